package ptxtest

import "fmt"

// token is a word or a mark of the text, with its line.
type token struct {
	text string
	line int
}

// Error reports PTX that is unknown here, or that no assembler would accept.
type Error struct {
	Line int
	What string
}

// Error begins with the line.
func (e *Error) Error() string { return fmt.Sprintf("PTX line %d: %s", e.Line, e.What) }

func wordByte(c byte) bool {
	return c == '_' || c == '.' || c == '%' || c == '$' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// scan divides text into tokens, without its comments.
func scan(text string) ([]token, error) {
	var all []token
	line := 1
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c == '\n':
			line++
			i++
		case c == ' ' || c == '\t' || c == '\r' || c == 0:
			i++
		case c == '/' && i+1 < len(text) && text[i+1] == '/':
			for i < len(text) && text[i] != '\n' {
				i++
			}
		case c == '"':
			end := i + 1
			for end < len(text) && text[end] != '"' && text[end] != '\n' {
				end++
			}
			if end == len(text) || text[end] != '"' {
				return nil, &Error{line, "a string without end"}
			}
			all = append(all, token{text[i : end+1], line})
			i = end + 1
		case wordByte(c) || c == '-' && i+1 < len(text) && wordByte(text[i+1]):
			end := i + 1
			for end < len(text) && wordByte(text[end]) {
				end++
			}
			all = append(all, token{text[i:end], line})
			i = end
		case c == ',' || c == ';' || c == ':' || c == '@' || c == '!' || c == '+' || c == '<' || c == '>' ||
			c == '(' || c == ')' || c == '[' || c == ']' || c == '{' || c == '}':
			all = append(all, token{text[i : i+1], line})
			i++
		default:
			return nil, &Error{line, fmt.Sprintf("%q is no mark of PTX that is known here", c)}
		}
	}
	return all, nil
}
