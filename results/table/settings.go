package table

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/intervals"
)

// libraryFamilies are the families by which baselines name the library's algorithms.
var libraryFamilies = map[string][]string{
	"ring": {"ring", "chain"}, "tree": {"double-binary-tree"}, "nvls": {"nvls"}, "nvlstree": {"nvlstree"}, "pat": {"pat"},
}

// isSetting reports whether the row is a setting of the library's, whose time is a model's.
func (r *Row) isSetting() bool { return r.SettingEvidence != "" }

// withoutIdle returns the measurements of a cell without settings that gain nothing over what the library does by itself:
// neither time, nor, about as fast, threadblocks. Where all settings are left out, so are those that gain.
func withoutIdle(ms []Measured, p results.Point, named, settings bool) []Measured {
	if !slices.ContainsFunc(ms, func(m Measured) bool { return m.IsSetting() }) {
		return ms
	}
	library := Row{named: named}
	library.standAt(p, ms)
	_, us := library.Library()
	left := slices.DeleteFunc(slices.Clone(ms), func(m Measured) bool {
		if !m.IsSetting() {
			return false
		}
		fewer := library.BaselineThreadblocks != nil && m.Threadblocks < *library.BaselineThreadblocks
		return !settings || us > 0 && m.TimeUS >= us*(1-SameTime) && !(fewer && AboutAsFast(m.TimeUS, us))
	})
	if settings && !slices.ContainsFunc(left, Measured.Competes) {
		return ms
	}
	return left
}

// settingInterval is how far a setting's time may be off, as that of the baseline: not at all of a vendor's prediction.
func (r *Row) settingInterval(m *intervals.Model) (intervals.Interval, string) {
	if r.SettingEvidence != results.EvidenceFitted {
		return intervals.Exact, ""
	}
	call := intervals.Call{Clock: r.Algorithm, Protocol: r.Protocol, Collective: r.Collective, Bytes: r.Bytes}
	if r.Algorithm == "ring" || r.Algorithm == "tree" {
		call.Clock, call.UpAndDown = intervals.Instructions, r.Algorithm == "tree" && r.Collective == "allreduce"
	}
	return m.Of(call)
}

// chooses reports whether the library takes the row's algorithm, or its protocol, by itself as called.
func (r *Row) chooses() (algorithm, protocol bool) {
	if r.called == nil || strings.Contains(r.called.Name, ", for ") { // another stands in
		return false, false
	}
	family, rest, _ := strings.Cut(r.called.Name, " ") // ring of ring ×24 LL
	return slices.Contains(libraryFamilies[r.Algorithm], family), slices.Contains(strings.Fields(strings.ReplaceAll(rest, ",", " ")), r.Protocol)
}

// parameter prints a parameter of the row; empty where it has none.
func (r *Row) parameter(name string) string {
	if v, has := r.Parameters[name]; has {
		return fmt.Sprint(v)
	}
	return ""
}

// release is the library of the row's baselines and its version: nccl, 2.32.3; empty where none names them.
func (r *Row) release() (library, version string) {
	for _, s := range []*standing{r.called, r.best} {
		if s != nil && s.Release != "" {
			library, version, _ = strings.Cut(s.Release, "-")
			return library, version
		}
	}
	return "", ""
}

// settingWords name the library's setting in words: NCCL, 32 channels; NCCL tree LL.
func (r *Row) settingWords() string {
	library, _ := r.release()
	if library == "" {
		library = "the library"
	} else {
		library = strings.ToUpper(library)
	}
	kernel, algorithm, protocol := r.parameter("kernel"), false, false
	switch {
	case kernel != "":
		library += " " + kernel
	case libraryFamilies[r.Algorithm] == nil:
		library += " " + r.Algorithm
	default:
		if algorithm, protocol = r.chooses(); !algorithm || !protocol {
			library += " " + r.Algorithm + " " + r.Protocol
		}
	}
	words := []string{library}
	for _, of := range []struct{ name, unit string }{{"channels", "channel"}, {"ctas", "CTA"}} {
		if n, err := strconv.Atoi(r.parameter(of.name)); err == nil {
			words = append(words, units.Count(n, of.unit))
		}
	}
	if r.parameter("registered") == results.RegisteredWindow {
		words = append(words, "windows")
	}
	return strings.Join(words, ", ")
}

// variables are the environment variables of a setting, NAME=VALUE; none of a program. They name the collective, where the release
// reads that, so that others keep the library's choice.
func (r *Row) variables() (all []string) {
	if !r.isSetting() {
		return nil
	}
	library, version := r.release()
	of := r.Collective + ":"
	if library == "rccl" && before(version, "2.26") {
		of = ""
	}
	if libraryFamilies[r.Algorithm] != nil {
		algorithm, protocol := r.chooses()
		if !algorithm {
			all = append(all, "NCCL_ALGO="+of+r.Algorithm)
		}
		if !algorithm || !protocol {
			all = append(all, "NCCL_PROTO="+of+r.Protocol)
		}
	}
	if n := r.parameter("channels"); n != "" {
		all = append(all, "NCCL_MIN_NCHANNELS="+n, "NCCL_MAX_NCHANNELS="+n)
	}
	if kernel := r.parameter("kernel"); kernel != "" {
		if !r.runsKernel(kernel) {
			if before(version, "2.31") {
				of = ""
			}
			all = append(all, "NCCL_SYM_KERNEL="+of+kernel)
		}
		all = append(all, "NCCL_SYM_CTAS="+r.parameter("ctas"))
	}
	if policy := r.parameter("cta_policy"); policy != "" {
		all = append(all, "NCCL_CTA_POLICY="+policy)
	}
	return all
}

// runsKernel reports whether the library runs a kernel by itself, once the buffers are in windows.
func (r *Row) runsKernel(kernel string) bool {
	return slices.ContainsFunc(append(r.others[:len(r.others):len(r.others)], r.called), func(s *standing) bool {
		return s != nil && s.KnownRegistered() == results.RegisteredWindow && strings.HasPrefix(s.Name+" ", kernel+" ")
	})
}

// before reports whether a version is before another: 2.9.1 is before 2.26.
func before(version, other string) bool {
	return slices.Compare(numbers(version), numbers(other)) < 0
}

func numbers(version string) (all []int) {
	for _, word := range strings.Split(version, ".") {
		n, err := strconv.Atoi(word)
		if err != nil {
			return all
		}
		all = append(all, n)
	}
	return all
}

// SettingLines say how the library's settings among the winners are set, a line each.
func (t *Table) SettingLines() (lines []string) {
	for i := range t.Rows {
		if r := &t.Rows[i]; r.isSetting() {
			if line := r.SettingLine(); !slices.Contains(lines, line) {
				lines = append(lines, line)
			}
		}
	}
	return lines
}

// Setting says how a range's winner is set where it is a setting of the library's; empty of others.
func (r *Range) Setting() string { return r.setting }

// SettingLine names a winner that is a setting of the library's, and how it is set.
func (r *Row) SettingLine() string {
	line := r.settingWords() + ": " + strings.Join(r.Variables, " ")
	if r.parameter("registered") == results.RegisteredWindow {
		line += ", and buffers in windows (ncclCommWindowRegister)"
	}
	return line
}
