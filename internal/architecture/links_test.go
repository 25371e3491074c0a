package architecture_test

import (
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	fence    = regexp.MustCompile("(?ms)^```.*?^```")
	codeSpan = regexp.MustCompile("`[^`\n]*`")
	link     = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading  = regexp.MustCompile(`(?m)^#+ +(.+)$`)
	// notInAnchors is what GitHub leaves out of a heading's anchor.
	notInAnchors = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// pages are the Markdown files of the module: their paths from its root, and their texts.
func pages(t *testing.T, root string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{"node_modules", ".git", "bin", "data", "testdata"}, d.Name()):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(p, ".md"):
			return nil
		}
		text, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		all[rel] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// anchors are those of a page's headings.
func anchors(text string) map[string]bool {
	all := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		a := notInAnchors.ReplaceAllString(strings.ToLower(strings.TrimSpace(m[1])), "")
		all[strings.ReplaceAll(a, " ", "-")] = true
	}
	return all
}

// deadLinks are the links of a page that lead nowhere on this machine; those to other machines are not followed.
func deadLinks(root, page, text string) (dead []string) {
	text = codeSpan.ReplaceAllString(fence.ReplaceAllString(text, ""), "")
	for _, m := range link.FindAllStringSubmatch(text, -1) {
		u, err := url.Parse(m[1])
		if err == nil && u.Scheme != "" {
			continue
		}
		target, anchor, _ := strings.Cut(m[1], "#")
		file := filepath.Join(root, page)
		if target != "" {
			file = filepath.Join(root, filepath.Dir(page), target)
		}
		_, missing := os.Stat(file)
		linked := ""
		if anchor != "" {
			b, _ := os.ReadFile(file)
			linked = string(b)
		}
		if err != nil || missing != nil || anchor != "" && !anchors(linked)[anchor] {
			dead = append(dead, m[1])
		}
	}
	return dead
}

func TestLinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	all := pages(t, root)
	for _, p := range []string{"README.md", "CONTRIBUTING.md", filepath.Join("docs", "glossary.md")} {
		if all[p] == "" {
			t.Errorf("%s was not found", p)
		}
	}
	for page, text := range all {
		for _, l := range deadLinks(root, page, text) {
			t.Errorf("%s: the link to %s leads nowhere", page, l)
		}
	}
}

func TestDeadLinksAreFound(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	text := "# A page, with `code`\n[a](here.md) [b](gone.md) [c](here.md#a-page-with-code) [d](#none)\n[e](https://example.org/x) `[f](no.md)`\n```\n[g](no.md)\n# none\n```\n"
	if err := os.WriteFile(filepath.Join(root, "here.md"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if dead := deadLinks(root, "here.md", text); !slices.Equal(dead, []string{"gone.md", "#none"}) {
		t.Errorf("dead links: %q", dead)
	}
}
