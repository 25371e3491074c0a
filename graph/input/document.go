package input

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/scriptorium-dev/scriptorium/internal/fault"
)

// CheckDocument reports whether a document is UTF-8 and its strings hold no surrogate without its pair, which the parser would read
// as U+FFFD without a word. The document must parse.
func CheckDocument(text string) *gqlerror.Error {
	if !utf8.ValidString(text) {
		offset := 0
		for offset < len(text) {
			r, size := utf8.DecodeRuneInString(text[offset:])
			if r == utf8.RuneError && size == 1 {
				break
			}
			offset += size
		}
		return refuse(fault.BadRequest, ast.Path{ast.PathName("query")}, "not valid UTF-8 at byte %d", offset)
	}
	if !strings.Contains(text, `\u`) {
		return nil
	}
	if offset := loneSurrogate(text); offset >= 0 {
		line := strings.Count(text[:offset], "\n") + 1
		column := utf8.RuneCountInString(text[strings.LastIndexByte(text[:offset], '\n')+1:offset]) + 1
		err := refuse(fault.ParseFailed, ast.Path{ast.PathName("query")}, "the surrogate %s has no pair, at byte %d", text[offset:offset+6], offset)
		return located(err, &ast.Position{Line: line, Column: column})
	}
	return nil
}

// loneSurrogate answers where an escaped surrogate without its pair stands in a string, or -1.
func loneSurrogate(text string) int {
	for i := 0; i < len(text); {
		switch {
		case text[i] == '#':
			end := strings.IndexAny(text[i:], "\r\n")
			if end < 0 {
				return -1
			}
			i += end
		case strings.HasPrefix(text[i:], `"""`):
			i = behindBlock(text, i+3)
		case text[i] == '"':
			end, lone := behindString(text, i+1)
			if lone >= 0 {
				return lone
			}
			i = end
		default:
			i++
		}
	}
	return -1
}

// behindBlock answers where a block string ends that begins in front of i.
func behindBlock(text string, i int) int {
	for i < len(text) {
		switch {
		case strings.HasPrefix(text[i:], `\"""`):
			i += 4
		case strings.HasPrefix(text[i:], `"""`):
			return i + len(text[i:]) - len(strings.TrimLeft(text[i:], `"`))
		default:
			i++
		}
	}
	return i
}

// behindString answers where a string ends that begins in front of i, and where it holds a lone surrogate, or -1.
func behindString(text string, i int) (end, lone int) {
	for i < len(text) && text[i] != '"' {
		if text[i] != '\\' {
			i++
			continue
		}
		r, ok := escaped(text[i:])
		switch {
		case !ok:
			i += 2
		case !utf16.IsSurrogate(r):
			i += 6
		default:
			next, ok := escaped(text[i+6:])
			if !ok || utf16.DecodeRune(r, next) == utf8.RuneError {
				return i, i
			}
			i += 12
		}
	}
	return i + 1, -1
}

// escaped reads \uXXXX at the beginning of the text.
func escaped(text string) (rune, bool) {
	if len(text) < 6 || text[:2] != `\u` {
		return 0, false
	}
	var r rune
	for _, c := range text[2:6] {
		digit := strings.IndexRune("0123456789abcdef", c|0x20)
		if digit < 0 {
			return 0, false
		}
		r = r<<4 | rune(digit)
	}
	return r, true
}
