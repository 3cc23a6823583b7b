// Command colltune finds the fastest way to run a collective on a given GPU
// system.
//
//	colltune search -t dgx-a100 -c allreduce      the winning table, and a campaign folder
//	colltune export campaigns/… --to msccl-xml --out xml
//
// A subcommand is a file of its name: it declares flags, calls a package below,
// and prints the result. The packages below search, compile, run and export;
// nothing of that is here.
//
// Words of its own: a sheet is a result as rows of text; a finding is a row of
// doctor; the target of compile is the file format that --to names.
//
// Invariants: results go to standard output and everything else to standard
// error; an error names the flag, file or key and what would be accepted; the
// exit codes are those of the table in exit.go.
//
// Files, in an order to read them in:
//
//	the tree      main.go exit.go memory.go
//	input         input.go program_file.go
//	output        output_text.go output_sheet.go output_stream.go output_file.go
//	              output.go output_job.go output_progress.go
//	flags         flags.go flags_problem.go flags_trial.go flags_sms.go flags_executor.go flags_help.go
//	              flags_run.go flags_settings.go flags_settings_executor.go
//	              completion.go
//	campaigns     campaign.go search_request.go search.go search_map.go
//	              results_front.go results.go compare.go export.go export_dispatcher.go report.go report_explain.go report_map.go resume.go resume_trust.go
//	libraries     table.go table_at.go table_diff.go table_next.go table_export.go report_table.go
//	steps         workload.go workload_output.go workload_page.go
//	programs      compile.go compile_holes.go compile_passes.go compile_target.go
//	              verify.go verify_folder.go run.go run_explain.go
//	              synth.go
//	systems       topology.go topology_bounds.go topology_calibrate.go
//	              topology_calibrate_input.go topology_calibrate_output.go topology_import.go
//	families      template.go template_check.go template_cost.go
//	the machine   executor.go doctor.go version.go
package main
