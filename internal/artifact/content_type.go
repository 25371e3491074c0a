package artifact

import (
	"bufio"
	"io"
	"path"
	"strings"
	"unicode/utf8"
)

const unknownType = "application/octet-stream"

// types are the content types of names that say what they are. The host's own table is not asked: it differs from host to host.
var types = map[string]string{
	".bmp": "image/bmp", ".css": "text/css; charset=utf-8", ".csv": "text/csv; charset=utf-8",
	".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document", ".gif": "image/gif", ".gz": "application/gzip",
	".htm": "text/html; charset=utf-8", ".html": "text/html; charset=utf-8", ".jpeg": "image/jpeg", ".jpg": "image/jpeg", ".js": "text/javascript; charset=utf-8",
	".json": "application/json", ".md": "text/markdown; charset=utf-8", ".mp3": "audio/mpeg", ".mp4": "video/mp4",
	".odp": "application/vnd.oasis.opendocument.presentation", ".ods": "application/vnd.oasis.opendocument.spreadsheet", ".odt": "application/vnd.oasis.opendocument.text",
	".pdf": "application/pdf", ".png": "image/png", ".pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation", ".svg": "image/svg+xml",
	".tar": "application/x-tar", ".tsv": "text/tab-separated-values; charset=utf-8", ".txt": "text/plain; charset=utf-8", ".wav": "audio/wav", ".webp": "image/webp",
	".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", ".xml": "application/xml", ".yaml": "application/yaml", ".yml": "application/yaml",
	".zip": "application/zip",
}

// sniffed is how much of a file is looked at where its name says nothing.
const sniffed = 512

// peek answers the first bytes of a reader, and a reader of all.
func peek(r io.Reader) ([]byte, io.Reader) {
	b := bufio.NewReaderSize(r, sniffed)
	head, _ := b.Peek(sniffed) // an error comes again with the next read
	return append([]byte(nil), head...), b
}

// contentType is what the name says, where what is in the file does not contradict it: a text type is only told of text. What has no telling name is plain text or
// bytes, and nothing that a browser would run.
func contentType(name string, head []byte) string {
	told, known := types[strings.ToLower(path.Ext(name))]
	text := isText(head)
	switch {
	case known && (text || !strings.HasPrefix(told, "text/")):
		return told
	case text && len(head) > 0:
		return "text/plain; charset=utf-8"
	}
	return unknownType
}

// isText says whether bytes are the beginning of a text: UTF-8, whose last character may be cut, without control characters but those of layout.
func isText(head []byte) bool {
	for len(head) > 0 {
		r, size := utf8.DecodeRune(head)
		if r == utf8.RuneError && size == 1 {
			return len(head) < utf8.UTFMax && !utf8.FullRune(head)
		}
		if r < ' ' && r != '\n' && r != '\r' && r != '\t' && r != '\f' || r == 0x7f {
			return false
		}
		head = head[size:]
	}
	return true
}
