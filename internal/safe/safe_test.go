package safe

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/BurntSushi/toml"
	"pgregory.net/rapid"
)

func TestTexts(t *testing.T) {
	for _, test := range []struct {
		name   string
		safe   func(string) string
		s, out string
	}{
		{"Terminal", Terminal, "größe 1 µs × 2\n\tand so on\r\n", "größe 1 µs × 2\n\tand so on\r\n"},
		{"Terminal", Terminal, "\x1b[31mred\x07\rover", `\u001b[31mred\u0007\rover`},
		{"Terminal", Terminal, "half a rune: \xe2\x82", `half a rune: \xe2\x82`},
		{"Terminal", Terminal, "csi \u009b turned \u202eround zero\u200bwidth", `csi \u009b turned \u202eround zero\u200bwidth`},
		{"Terminal", Terminal, "tag \U000e0041", `tag \udb40\udc41`},
		{"Line", Line, "two\nlines\tand\u2028more\r\x1b", `two lines and more \u001b`},
		{"Line", Line, "\xff\n", `\xff `},
		{"CSV", CSV, "=1+1", "'=1+1"},
		{"CSV", CSV, "  @SUM(A1)", "'  @SUM(A1)"},
		{"CSV", CSV, "\t=1", `\t=1`},
		{"CSV", CSV, "\r=1", `\r=1`},
		{"CSV", CSV, "+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0"},
		{"CSV", CSV, "-1+1", "'-1+1"},
		{"CSV", CSV, "-Inf", "'-Inf"},
		{"CSV", CSV, "＝1", "'＝1"},
		{"CSV", CSV, "-1.5e-07", "-1.5e-07"},
		{"CSV", CSV, "+3.2", "+3.2"},
		{"CSV", CSV, "-", "-"},
		{"CSV", CSV, "a=1 b=-2", "a=1 b=-2"},
		{"Markdown", Markdown, "<img src=x>|[a](b)`c` *d*", "&lt;img src=x&gt;\\|\\[a\\](b)\\`c\\` \\*d\\*"},
		{"Markdown", Markdown, `\|`, `\\\|`},
		{"Markdown", Markdown, "channels=1 rings_of=2 ×8", "channels=1 rings_of=2 ×8"},
		{"HTML", HTML, "<script>\x00'\"&", `&lt;script&gt;\u0000&#39;&#34;&amp;`},
		{"XMLComment", XMLComment, "a-->b --- größe\n", "a- ->b - - - gr  e "},
		{"TOML", TOML, "a\"b\\c\n\x1b\u202e\U000e0041", `"a\"b\\c\n\u001b\u202e\U000e0041"`},
		{"Shell", Shell, "out/campaign", "out/campaign"},
		{"Shell", Shell, "", "''"},
		{"Shell", Shell, "=ls", "'=ls'"},
		{"Shell", Shell, "it's; rm -rf ~", `'it'\''s; rm -rf ~'`},
		{"Shell", Shell, "a\nb'\x1b1", `$'a\012b\'\0331'`},
		{"Path", Path, "-rf", "./-rf"},
		{"Path", Path, "--x y", "'./--x y'"},
	} {
		if got := test.safe(test.s); got != test.out {
			t.Errorf("%s(%q) is %q, want %q", test.name, test.s, got, test.out)
		}
	}
}

// hostile draws texts full of what must not be printed as it is.
var hostile = rapid.Custom(func(t *rapid.T) string {
	parts := rapid.SliceOf(rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
		"\x1b[2J", "\u009b2J", "\u202e", "\u2066", "\u200b", "\u2028", "\ufeff", "\U000e0041", "\xff", "\xe2\x82", "\r", "\r\n", "\n", "\t", "\x00", "\x7f",
		"=", "-", "+", "@", "|", "\\", "`", "<b>", "-->", "--", "\"", "'", "&", "$(x)", "\ufffe", "\ud7ff",
	}))).Draw(t, "parts")
	return strings.Join(parts, "")
})

// shown reports what must not be in a text that a person is shown.
func shown(s string, stays string) error {
	for i, r := range s {
		if r == utf8.RuneError && s[i] != 0xef {
			return errors.New("bytes that are no UTF-8")
		}
		if Hidden(r) && !strings.ContainsRune(stays, r) {
			return errors.New("a hidden character")
		}
	}
	return nil
}

// TestPromises holds every function to what the package says of it.
func TestPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := hostile.Draw(t, "s")
		for _, f := range []struct {
			name  string
			safe  func(string) string
			stays string
		}{
			{"Terminal", Terminal, "\r\n\t"}, {"Line", Line, ""}, {"CSV", CSV, ""}, {"Markdown", Markdown, ""}, {"HTML", HTML, "\r\n\t"},
			{"XMLComment", XMLComment, ""}, {"ASCII", ASCII, ""}, {"Shell", Shell, ""}, {"Path", Path, ""},
		} {
			if err := shown(f.safe(s), f.stays); err != nil {
				t.Fatalf("%s(%q) is %q: %v", f.name, s, f.safe(s), err)
			}
		}
		if strings.Contains(strings.ReplaceAll(Terminal(s), "\r\n", ""), "\r") {
			t.Fatalf("Terminal(%q) has a \\r within a line", s)
		}
		if html := HTML(s); strings.ContainsAny(html, `<>"'`) {
			t.Fatalf("HTML(%q) is %q", s, html)
		}
		if c := XMLComment(s); strings.Contains(c, "--") {
			t.Fatalf("XMLComment(%q) is %q", s, c)
		}
		var text bytes.Buffer
		text.WriteString("<a>" + HTML(s) + "</a>")
		var back struct {
			Text string `xml:",chardata"`
		}
		if err := xml.Unmarshal(text.Bytes(), &back); err != nil || strings.ReplaceAll(back.Text, "\n", "") != strings.NewReplacer("\r", "", "\n", "").Replace(Terminal(s)) {
			t.Fatalf("HTML(%q) is read as %q, %v", s, back.Text, err)
		}
	})
}

// TestCSVIsOneCell: every row is one line, and its cells are read as they were made.
func TestCSVIsOneCell(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		row := CSVRow([]string{hostile.Draw(t, "a"), hostile.Draw(t, "b")})
		var b strings.Builder
		w := csv.NewWriter(&b)
		if err := w.Write(row); err != nil {
			t.Fatal(err)
		}
		w.Flush()
		if strings.Count(b.String(), "\n") != 1 {
			t.Fatalf("%q is more than a line", b.String())
		}
		back, err := csv.NewReader(strings.NewReader(b.String())).Read()
		if err != nil || len(back) != 2 || back[0] != row[0] || back[1] != row[1] {
			t.Fatalf("%q is read as %q, %v", row, back, err)
		}
		for _, c := range row {
			if trimmed := strings.TrimSpace(c); len(trimmed) > 1 && strings.ContainsRune("=@", rune(trimmed[0])) {
				t.Fatalf("a spreadsheet runs %q", c)
			}
		}
	})
}

// TestDocumentsKeepTheirValues: JSON and TOML are read as what was written.
func TestDocumentsKeepTheirValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := strings.ToValidUTF8(hostile.Draw(t, "s"), "?")
		var raw bytes.Buffer
		enc := json.NewEncoder(&raw)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(map[string]string{s: s}); err != nil {
			t.Fatal(err)
		}
		document := JSON(raw.Bytes())
		if err := shown(string(document), "\n"); err != nil {
			t.Fatalf("%q: %v", document, err)
		}
		var back map[string]string
		if err := json.Unmarshal(document, &back); err != nil || len(back) != 1 || back[s] != s {
			t.Fatalf("%q of %q is read as %q, %v", document, s, back, err)
		}

		text := "s = " + TOML(s)
		if err := shown(text, ""); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		var table struct{ S string }
		if _, err := toml.Decode(text, &table); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if table.S != s {
			t.Fatalf("%q is read as %q", s, table.S)
		}
	})
}

// TestWriter: however a text is cut, what passes is what Terminal makes of it whole.
func TestWriter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := hostile.Draw(t, "s")
		var got strings.Builder
		w := NewWriter(&got)
		for rest := s; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			if wrote, err := io.WriteString(w, rest[:n]); wrote != n || err != nil {
				t.Fatalf("%d of %d bytes, %v", wrote, n, err)
			}
			rest = rest[n:]
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if want := Terminal(s); got.String() != want {
			t.Fatalf("%q is passed on as %q, want %q", s, got.String(), want)
		}
	})
}

// TestShellReadsOneWord has a shell print its words back.
func TestShellReadsOneWord(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash here")
	}
	for _, s := range []string{"", "a b", "it's", "~", "$HOME", "`id`", "a\nb", "\x1b[2J1", "\u202e", "\xff", `a\b`, "-n", "=x", "!x", "*", "{a,b}", "a'\n\\'"} {
		out, err := exec.Command(bash, "-c", "printf %s "+Shell("x"+s)+"; printf '|%s' "+Path(s)).Output()
		path := s
		if strings.HasPrefix(s, "-") {
			path = "./" + s
		}
		if want := "x" + s + "|" + path; err != nil || string(out) != want {
			t.Errorf("%q comes back as %q, %v", want, out, err)
		}
	}
}
