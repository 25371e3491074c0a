package file

import (
	"mime"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestDisposition(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"deck.pptx":              `attachment; filename="deck.pptx"`,
		"two words.txt":          `attachment; filename="two words.txt"`,
		`a"; filename="x.exe`:    `attachment; filename="a__ filename=_x.exe"; filename*=UTF-8''a%22%3B%20filename%3D%22x.exe`,
		"报告 ñ😀.txt":              `attachment; filename="__ __.txt"; filename*=UTF-8''%E6%8A%A5%E5%91%8A%20%C3%B1%F0%9F%98%80.txt`,
		"a\r\nSet-Cookie: x=1\n": `attachment; filename="a__Set-Cookie: x=1_"`,
		"../../etc/passwd":       `attachment; filename=".._.._etc_passwd"`,
		`c:\boot.ini`:            `attachment; filename="c:_boot.ini"`,
		"exe\u202egpj.txt":       `attachment; filename="exe_gpj.txt"`,
		"a\xffb":                 `attachment; filename="a_b"`,
		"100%":                   `attachment; filename="100_"; filename*=UTF-8''100%25`,
		"a+b":                    `attachment; filename="a+b"`,
		"":                       `attachment; filename="file"`,
		"..":                     `attachment; filename="file"`,
	} {
		if got := disposition(name); got != want {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
	}
}

func FuzzDisposition(f *testing.F) {
	for _, s := range []string{"", "a", `"`, "\r\n", "报告", "\xff\xfe", strings.Repeat("é", 4000), "a;b=c", "%00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		header := disposition(name)
		kind, params, err := mime.ParseMediaType(header)
		if err != nil || kind != "attachment" || params["filename"] == "" || strings.ContainsAny(params["filename"], "/\\\x00\r\n") {
			t.Fatalf("%q: %s is read as %q %v: %v", name, header, kind, params, err)
		}
		if !utf8.ValidString(header) || len(header) > 8<<10 || http.CanonicalHeaderKey(header) == "" {
			t.Fatalf("%q: %s", name, header)
		}
		for _, b := range []byte(header) {
			if b < ' ' || b > '~' {
				t.Fatalf("%q: byte %#x in %q", name, b, header)
			}
		}
	})
}
