package results

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// A line with a checksum is a JSON object whose last key is sum:
//
//	{"v":2,"trial":{…},"sum":"0123456789abcdef"}
//
// The checksum covers the line without that key, and what the line follows: in the
// journal the checksum of the line before. So a line that is changed, removed,
// doubled or moved shows. It guards against damage, and is no signature.
const (
	sumDigits = 16
	sumHead   = `,"sum":"`
	sumTail   = `"}`
	sumLength = len(sumHead) + sumDigits + len(sumTail)
)

// checksum computes the checksum of a line from the bytes before the key sum and the
// checksum of the line before.
func checksum(after string, body []byte) string {
	h := sha256.New()
	h.Write([]byte(after))
	h.Write(body)
	h.Write([]byte("}"))
	return truncatedSum(h.Sum(nil))
}

// truncatedSum is the part of a SHA-256 that lines carry.
func truncatedSum(sum []byte) string { return hex.EncodeToString(sum[:sumDigits/2]) }

// appendChecksum adds the checksum to an encoded object that is not empty.
func appendChecksum(after string, object []byte) (line []byte, sum string) {
	body := bytes.TrimSuffix(object, []byte("}"))
	sum = checksum(after, body)
	return append(append(bytes.Clone(body), sumHead+sum+sumTail...), '\n'), sum
}

// splitChecksum splits a line, with its line break, into all before the key sum and the
// checksum. ok is false for a line that carries none.
func splitChecksum(line []byte) (body []byte, sum string, ok bool) {
	line = bytes.TrimSuffix(line, []byte("\n"))
	at := len(line) - sumLength
	if at < 1 || !bytes.HasPrefix(line[at:], []byte(sumHead)) || !bytes.HasSuffix(line, []byte(sumTail)) {
		return nil, "", false
	}
	return line[:at], string(line[at+len(sumHead) : len(line)-len(sumTail)]), true
}

// planDigest identifies the campaign.toml that a journal belongs to: the hash of its
// bytes and of each line, so that an error can name a changed line.
type planDigest struct {
	SHA256 string   `json:"sha256"`
	Lines  []string `json:"lines"` // the first mostMarked; 8 digits each
}

// maxDigestLines is how many lines of a plan can be named. More make a long record.
const maxDigestLines = 4096

func digestPlan(text []byte) planDigest {
	whole := sha256.Sum256(text)
	mark := planDigest{SHA256: hex.EncodeToString(whole[:])}
	for line := range strings.SplitSeq(string(text), "\n") {
		if len(mark.Lines) == maxDigestLines {
			break
		}
		sum := sha256.Sum256([]byte(line))
		mark.Lines = append(mark.Lines, hex.EncodeToString(sum[:4]))
	}
	return mark
}

// firstChangedLine is the first line in which a plan is not the marked one; 0 if it is none
// of those that can be named.
func (m *planDigest) firstChangedLine(now planDigest) int {
	for i := range max(len(m.Lines), len(now.Lines)) {
		if i >= len(m.Lines) || i >= len(now.Lines) || m.Lines[i] != now.Lines[i] {
			return i + 1
		}
	}
	return 0
}
