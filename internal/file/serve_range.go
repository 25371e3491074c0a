package file

import (
	"net/http"
	"strconv"
	"strings"
)

// maxRanges is how many ranges a request may ask for. Each takes some work, however few bytes it has.
const maxRanges = 16

// span is a range of bytes, first and last among them. A first one past the end is a range that cannot be had.
type span struct{ first, last int64 }

// understood answers a request whose Range header http.ServeContent reads as RFC 9110 has it, and its ranges. What nobody has to understand is ignored, so that the whole is
// answered: another unit, what is no list of ranges, more than maxRanges, several headers, any range of nothing.
func understood(r *http.Request, size int64) (*http.Request, []span) {
	headers := r.Header.Values("Range")
	if len(headers) == 0 {
		return r, nil
	}
	var wanted []span
	if len(headers) == 1 && size > 0 {
		wanted = spans(headers[0], size)
	}
	r = r.Clone(r.Context())
	r.Header.Del("Range")
	if len(wanted) > 0 {
		each := make([]string, len(wanted))
		for i, s := range wanted {
			each[i] = strconv.FormatInt(s.first, 10) + "-" + strconv.FormatInt(s.last, 10)
		}
		r.Header.Set("Range", "bytes="+strings.Join(each, ","))
	}
	return r, wanted
}

// spans reads a Range header about bytes, of which there are size; nil where it is to be ignored.
func spans(header string, size int64) []span {
	unit, list, ok := strings.Cut(header, "=")
	if !ok || !strings.EqualFold(strings.TrimSpace(unit), "bytes") || strings.Count(list, ",") >= maxRanges {
		return nil
	}
	var all []span
	for each := range strings.SplitSeq(list, ",") {
		if each = strings.Trim(each, " \t"); each == "" {
			continue
		}
		s, ok := oneSpan(each, size)
		if !ok {
			return nil
		}
		all = append(all, s)
	}
	return all
}

// oneSpan reads a range such as 0-499, 500- or -500 (the last 500). It ends with the bytes, wherever its last one is said to be.
func oneSpan(text string, size int64) (span, bool) {
	from, to, ok := strings.Cut(text, "-")
	first, hasFirst, firstOK := place(from, size)
	last, hasLast, lastOK := place(to, size)
	switch {
	case !ok || !firstOK || !lastOK || !hasFirst && !hasLast || hasFirst && hasLast && last < first:
		return span{}, false
	case !hasFirst:
		return span{size - last, max(size-1, size-last)}, true // -0 begins behind the end
	case !hasLast:
		last = size
	}
	return span{first, max(min(last, size-1), first)}, true
}

// place reads a number of bytes, however long; what is more than size is size. It may be missing.
func place(text string, size int64) (n int64, there, ok bool) {
	text = strings.Trim(text, " \t")
	if strings.Trim(text, "0123456789") != "" {
		return 0, false, false
	}
	if text == "" {
		return 0, false, true
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n > size { // it has only digits: so it is too large for 64 bits
		n = size
	}
	return n, true, true
}
