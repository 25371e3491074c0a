package scalar

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/99designs/gqlgen/graphql"

	"github.com/scriptorium-dev/scriptorium/internal/event"
	"github.com/scriptorium-dev/scriptorium/internal/upload"
)

// timeFormat is RFC 3339 with exactly three digits behind the second.
const timeFormat = "2006-01-02T15:04:05.000Z07:00"

// MarshalTime writes a time in UTC, cut to milliseconds.
func MarshalTime(t time.Time) graphql.Marshaler {
	return quoted(t.UTC().Format(timeFormat))
}

// UnmarshalTime reads an RFC 3339 time with any offset, and cuts it to milliseconds in UTC.
func UnmarshalTime(v any) (time.Time, error) {
	text, ok := v.(string)
	if !ok {
		return time.Time{}, errors.New("must be a string with a time as RFC 3339 has it")
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return time.Time{}, errors.New("must be a time as RFC 3339 has it, such as 2026-01-31T09:30:00.000Z")
	}
	return t.UTC().Truncate(time.Millisecond), nil
}

// MarshalJSON writes a JSON value without the white space between its tokens; all else stays as it is.
func MarshalJSON(v json.RawMessage) graphql.ContextMarshaler {
	return graphql.ContextWriterFunc(func(_ context.Context, w io.Writer) error {
		var compact bytes.Buffer
		if err := json.Compact(&compact, v); err != nil {
			return fmt.Errorf("a kept JSON value does not parse: %w", err)
		}
		_, err := w.Write(compact.Bytes())
		return err
	})
}

// UnmarshalJSON takes the bytes that graph/input put at a JSON position. Anything else has lost digits and order already, and
// is refused.
func UnmarshalJSON(_ context.Context, v any) (json.RawMessage, error) {
	raw, ok := v.(json.RawMessage)
	if !ok {
		return nil, fmt.Errorf("a JSON value came as %T instead of its bytes", v)
	}
	return raw, nil
}

// MarshalCursor writes a cursor.
func MarshalCursor(cursor string) graphql.Marshaler { return quoted(cursor) }

// MarshalEventCursor writes the cursor of an event.
func MarshalEventCursor(cursor event.Cursor) graphql.Marshaler { return quoted(string(cursor)) }

// UnmarshalEventCursor reads the cursor of an event; whether it is one of the stream at hand is for that to say.
func UnmarshalEventCursor(v any) (event.Cursor, error) {
	text, err := UnmarshalCursor(v)
	return event.Cursor(text), err
}

// UnmarshalCursor reads a cursor; whether it is one of the list or stream at hand is for that to say.
func UnmarshalCursor(v any) (string, error) {
	text, ok := v.(string)
	if !ok {
		return "", errors.New("must be a string")
	}
	return text, nil
}

// MarshalBytes writes bytes in base64 with padding.
func MarshalBytes(data []byte) graphql.Marshaler {
	return graphql.WriterFunc(func(w io.Writer) {
		text := make([]byte, 0, base64.StdEncoding.EncodedLen(len(data))+2)
		text = append(text, '"')
		text = base64.StdEncoding.AppendEncode(text, data)
		_, _ = w.Write(append(text, '"'))
	})
}

// UnmarshalBytes reads base64 with padding and nothing around it.
func UnmarshalBytes(v any) ([]byte, error) {
	text, ok := v.(string)
	if !ok {
		return nil, errors.New("must be a string in base64")
	}
	data, err := base64.StdEncoding.Strict().DecodeString(text)
	// The decoder passes over line ends; what it made of the text must give that text back.
	if err != nil || base64.StdEncoding.EncodedLen(len(data)) != len(text) {
		return nil, errors.New("must be base64 with padding")
	}
	return data, nil
}

// MarshalBigInt writes a number as a JSON string of its digits.
func MarshalBigInt(n int64) graphql.Marshaler { return quoted(strconv.FormatInt(n, 10)) }

// UnmarshalBigInt reads a string of digits or a whole JSON number, of 64 bits.
func UnmarshalBigInt(v any) (int64, error) {
	var text string
	switch v := v.(type) {
	case string:
		text = v
	case json.Number:
		text = v.String()
	case int64:
		return v, nil
	default:
		return 0, errors.New("must be a whole number or a string of its digits")
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || strconv.FormatInt(n, 10) != text {
		return 0, errors.New("must be a whole number of 64 bits, in digits alone")
	}
	return n, nil
}

// MarshalID writes an id.
func MarshalID(id string) graphql.Marshaler { return quoted(id) }

// UnmarshalID reads an id: a string, or a whole number as clients may write it in a document.
func UnmarshalID(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case int64:
		return strconv.FormatInt(v, 10), nil
	default:
		return "", errors.New("must be a string")
	}
}

// UploadPrefix begins the names that a request's uploads have; what follows nobody can guess.
const UploadPrefix = "upload:"

var errNoUpload = errors.New("must be a file of a multipart/form-data request (graphql-multipart-request-spec)")

// MarshalUpload refuses: an upload is nothing that can be answered.
func MarshalUpload(*upload.Upload) graphql.ContextMarshaler {
	return graphql.ContextWriterFunc(func(context.Context, io.Writer) error { return errors.New("an Upload cannot be answered") })
}

// UnmarshalUpload takes the file of a multipart request whose name graph put in its place.
func UnmarshalUpload(ctx context.Context, v any) (*upload.Upload, error) {
	name, _ := v.(string)
	if u := upload.Named(ctx, name); u != nil {
		return u, nil
	}
	return nil, errNoUpload
}

// Check says what is wrong with a value for the scalar of this name, so that it can be refused before anything runs. It
// knows Time, Cursor, Bytes, BigInt and Upload; of other scalars it says nothing.
func Check(name string, v any) error {
	var err error
	switch name {
	case "Time":
		_, err = UnmarshalTime(v)
	case "Cursor":
		_, err = UnmarshalCursor(v)
	case "Bytes":
		_, err = UnmarshalBytes(v)
	case "BigInt":
		_, err = UnmarshalBigInt(v)
	case "Upload":
		if name, ok := v.(string); !ok || !strings.HasPrefix(name, UploadPrefix) {
			err = errNoUpload
		}
	}
	return err
}

func quoted(text string) graphql.Marshaler { return graphql.MarshalString(text) }
