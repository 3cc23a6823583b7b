package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

// testMaps are two ranks' calls, of which one has a second within noise, and a map of
// nothing.
func testMaps() *Maps {
	return &Maps{
		Title: "Libraries <of> a & b", Notes: []string{"a note"},
		Maps: []Map{
			{Title: "allreduce", Rows: []MapRow{
				{
					Label: "2 ranks",
					Cells: []MapCell{{Bytes: 1024, Winner: "<vllm>", US: 4, Second: "nccl", Ahead: 2.5}, {Bytes: 4096, Winner: "nccl", US: 9, Second: "<vllm>", Ahead: 1.01, Near: true}},
					Lines: []MapLine{{"<vllm>", []MapPoint{{1024, 4}, {4096, 9.09}}}, {"nccl", []MapPoint{{1024, 10}, {4096, 9}}}},
					Alone: []MapAlone{{"<vllm>", 2, 2, 1.005}, {"nccl", 2, 2, 1.58}}, Mixing: 1.005,
				},
				{Label: "8 ranks", Cells: []MapCell{{Bytes: 4096, Winner: "nccl", US: 12}}},
			}},
			{Title: "nothing"},
		},
	}
}

func mapsPage(t *testing.T, m *Maps) string {
	t.Helper()
	var b bytes.Buffer
	if err := m.Write(&b); err != nil {
		t.Fatal(err)
	}
	checkMarkup(t, m.Title, b.String())
	return b.String()
}

// The page has each call, names what wins in words too, loads nothing and runs nothing.
func TestMapsStandAlone(t *testing.T) {
	text := mapsPage(t, testMaps())
	for _, want := range []string{
		"Libraries &lt;of&gt; a &amp; b", "a note", "&lt;vllm&gt; (1 of 3)", "nccl (2 of 3)", "Nothing was measured",
		"2 ranks, 1K: &lt;vllm&gt;, 4.00 us; nccl takes 2.50 times as long", "the same within noise", "8 ranks, 4K: nccl, 12.00 us",
		">2.50</text>", ">≈</text>", "nccl, 4K: 0.46 GB/s, 9.00 us", "<td class=\"n\">2 of 2</td><td class=\"n\">1.58</td>",
		"The best at each size is 1.00 times as fast",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q", want)
		}
	}
	for _, never := range []string{"<script", "NaN", "Inf", "src=", "@import", "url("} {
		if strings.Contains(text, never) {
			t.Errorf("has %q", never)
		}
	}
	if again := mapsPage(t, testMaps()); again != text {
		t.Error("equal maps give other bytes")
	}
}

// More libraries than colours: those that win have one, the others are in the table.
func TestMapsOfMany(t *testing.T) {
	row := MapRow{Label: "2 ranks", Cells: []MapCell{{Bytes: 1024, Winner: "library 19", US: 1}}}
	for i := range 20 {
		name := fmt.Sprintf("library %d", i)
		row.Lines = append(row.Lines, MapLine{name, []MapPoint{{1024, float64(20 - i)}}})
		row.Alone = append(row.Alone, MapAlone{name, 1, 1, float64(20 - i)})
	}
	text := mapsPage(t, &Maps{Title: "many", Maps: []Map{{Title: "allreduce", Rows: []MapRow{row}}}})
	if n := strings.Count(text, `class="line c`); n != palette {
		t.Errorf("%d curves, want as many as there are colours, %d", n, palette)
	}
	if !strings.Contains(text, `<g class="line c1"`) || !strings.Contains(text, `<i class="c1"></i>library 19`) {
		t.Error("the winner has not the first colour")
	}
	if n := strings.Count(text, "<td><i class="); n != 20 {
		t.Errorf("%d rows in the table, want 20", n)
	}
}

// checkMarkup fails a page that is not well formed.
func checkMarkup(t *testing.T, name, text string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(strings.TrimPrefix(text, "<!DOCTYPE html>\n")))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
}
