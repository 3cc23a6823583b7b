// Package safe makes text that others wrote fit for each kind of output: names,
// notes, messages and paths from files, executors and folders.
//
//	output                 function     promise
//	terminal, log          Terminal     no character moves the cursor or hides text
//	a cell or a line       Line         the same, on one line
//	all that is printed    NewWriter    the same as Terminal
//	CSV                    CSV          a spreadsheet takes the cell as text or as a number
//	Markdown               Markdown     no markup, no HTML, no end of the cell
//	HTML, SVG              HTML         no markup; legal in XML
//	XML comment            XMLComment   ASCII on one line that does not end the comment
//	JSON                   JSON         the same values; hidden characters as \u escapes
//	TOML                   TOML         a quoted string of the same value
//	shell                  Shell, Path  one word; as an argument, no option (Path)
//
// Hidden characters are those that show nothing or change the direction of text; see
// Hidden. They are written as escapes, so that a reader sees that they are there.
//
// A text goes through exactly one function, where it is printed. Stored text (plans,
// journals, programs) stays as it is.
//
// It does not judge whether a name makes sense: readers of files do.
package safe
