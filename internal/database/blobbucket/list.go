package blobbucket

import (
	"bytes"
	"context"
	"strings"
	"time"

	"gocloud.dev/blob/driver"
)

// maxPage is how many entries a page of a list has at most, and how many rows a statement answers.
const maxPage = 1000

// ListPaged implements driver.Bucket. A page's token is the first name that may be on the next one.
func (b bucket) ListPaged(ctx context.Context, opts *driver.ListOptions) (*driver.ListPage, error) {
	if err := before(opts.BeforeList); err != nil {
		return nil, err
	}
	size := opts.PageSize
	if size <= 0 || size > maxPage {
		size = maxPage
	}
	l := &lister{prefix: opts.Prefix, delimiter: opts.Delimiter, next: []byte(opts.Prefix), behind: successor([]byte(opts.Prefix))}
	if len(opts.PageToken) > 0 {
		l.next = opts.PageToken
	}
	for !l.done && len(l.objects) <= size {
		rows, err := b.names(ctx, l.next, l.behind, size+1)
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			l.add(row, size+1)
		}
		l.done = l.done || len(rows) <= size
	}
	page := &driver.ListPage{Objects: l.objects}
	if len(l.objects) > size {
		page.Objects, page.NextPageToken = l.objects[:size], []byte(l.objects[size].Key)
	}
	return page, nil
}

// lister gathers a page from rows in the order of their names.
type lister struct {
	prefix, delimiter string
	objects           []*driver.ListObject
	next              []byte // the lowest name that has not been looked at
	behind            []byte // every name is below it; nil: there is no such bound
	done              bool
}

// add takes a row, unless it lies in a folder that was listed, or there are enough.
func (l *lister) add(row *driver.ListObject, enough int) {
	if l.done || len(l.objects) == enough || row.Key < string(l.next) {
		return
	}
	rest := row.Key[len(l.prefix):]
	if i := strings.Index(rest, l.delimiter); l.delimiter != "" && i >= 0 {
		row = &driver.ListObject{Key: l.prefix + rest[:i+len(l.delimiter)], IsDir: true}
		l.next = successor([]byte(row.Key))
		l.done = l.next == nil
	} else {
		l.next = append([]byte(row.Key), 0)
	}
	l.objects = append(l.objects, row)
}

// names reads rows from a name on, to the one before behind.
func (b bucket) names(ctx context.Context, from, behind []byte, limit int) ([]*driver.ListObject, error) {
	query, args := `SELECT name, size, modified_at FROM blobs WHERE name >= $1 `, []any{from, limit}
	if behind != nil {
		query, args = query+`AND name < $3 `, append(args, behind)
	}
	rows, err := b.db.SQL().QueryContext(ctx, query+`ORDER BY name LIMIT $2`, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // Err tells
	var objects []*driver.ListObject
	for rows.Next() {
		var name []byte
		var size int64
		var modified time.Time
		if err := rows.Scan(&name, &size, &modified); err != nil {
			return nil, err
		}
		objects = append(objects, &driver.ListObject{Key: string(name), Size: size, ModTime: modified})
	}
	return objects, rows.Err()
}

// successor is the lowest name that is above all that begin with a prefix, nil where there is none.
func successor(prefix []byte) []byte {
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] < 0xff {
			up := bytes.Clone(prefix[:i+1])
			up[i]++
			return up
		}
	}
	return nil
}
