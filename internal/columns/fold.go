package columns

import (
	"strings"
	"unicode/utf8"
)

// Width is how many characters a line has at most, unless it is asked for wider.
const Width = 98

// Fold breaks a line into several of at most width characters, between words, and a word that is
// longer behind one of its marks: a path behind a slash. From the second on they are indented. 0:
// nothing is broken.
func Fold(line string, width int, indent string) []string {
	if width <= 0 || utf8.RuneCountInString(line) <= width {
		return []string{line}
	}
	var lines []string
	for first := true; ; first = false {
		room := width
		if !first {
			room -= len(indent)
		}
		head, rest := cut(line, max(room, 1))
		if !first {
			head = indent + head
		}
		lines = append(lines, head)
		if line = rest; line == "" {
			return lines
		}
	}
}

// marks end parts of a word.
const marks = "/,;:=_-+.]"

// cut takes the beginning of a line that has at most room characters.
func cut(line string, room int) (head, rest string) {
	letters := []rune(line)
	if len(letters) <= room {
		return line, ""
	}
	for i := room; i > 0; i-- {
		if letters[i] == ' ' {
			return strings.TrimRight(string(letters[:i]), " "), strings.TrimLeft(string(letters[i:]), " ")
		}
	}
	for i := room; i > room/2; i-- {
		if strings.ContainsRune(marks, letters[i-1]) {
			return string(letters[:i]), string(letters[i:])
		}
	}
	return string(letters[:room]), string(letters[room:])
}

// FoldShell breaks a command of a shell into lines that make one command: behind each but the last
// stands a backslash, and a quoted word that is broken is closed before it and opened again.
func FoldShell(command string, width int) (lines []string) {
	if utf8.RuneCountInString(command) <= width {
		return []string{command}
	}
	var line []rune
	quoted, blank := false, -1 // blank: the last one between words
	letters := []rune(command)
	for i := 0; i < len(letters); i++ {
		one := letters[i : i+1]
		if letters[i] == '\\' && !quoted && i+1 < len(letters) {
			one = letters[i : i+2]
			i++
		}
		if len(line)+len(one)+len(`'\`) > width {
			switch {
			case blank > 0:
				lines = append(lines, string(line[:blank])+` \`)
				line = append([]rune(gap), line[blank+1:]...)
			case quoted:
				lines, line = append(lines, string(line)+`'\`), []rune{'\''}
			default:
				lines, line = append(lines, string(line)+`\`), nil
			}
			blank = -1
		}
		switch {
		case one[0] == '\'':
			quoted = !quoted
		case one[0] == ' ' && !quoted:
			blank = len(line)
		}
		line = append(line, one...)
	}
	return append(lines, string(line))
}
