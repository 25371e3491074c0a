// Package upload is a file that came with a request: what the API's edge hands to whoever keeps it. It holds no bytes: they wait outside of memory, for as long as the
// request lasts.
package upload
