package run

import (
	"time"

	"github.com/scriptorium-dev/scriptorium/internal/event"
)

// generationStatus says where a generation stands.
type generationStatus string

// The states of a generation: it is asked for, then started or refused.
const (
	generationQueued  generationStatus = "QUEUED"
	generationStarted generationStatus = "STARTED"
	generationRefused generationStatus = "REFUSED"
)

// generationReason says why a generation was refused.
type generationReason string

// The reasons.
const (
	reasonFinished      generationReason = "FINISHED"
	reasonNotConfigured generationReason = "NOT_CONFIGURED"
	reasonUnavailable   generationReason = "UNAVAILABLE"
	reasonLost          generationReason = "LOST"
)

// Generation is one runGenerationStart: a row that any server writes and the run's owner works off.
type Generation struct {
	ID             string
	OrganizationID string
	RunID          string
	Status         generationStatus
	Reason         generationReason
	Number         int
	Materialised   []string
	Removed        []string
	CreatedAt      time.Time
}

// Topics that are published on for their signal only.
const everyServer = event.Topic("servers")

// serverTopic tells a server to look at the database.
func serverTopic(server string) event.Topic { return event.Topic("server/" + server) }

// generationTopic tells that a generation was started or refused.
func generationTopic(id string) event.Topic { return event.Topic("generation/" + id) }

// leftTopic tells that a run's computer is gone.
func leftTopic(runID string) event.Topic { return event.Topic("left/" + runID) }
