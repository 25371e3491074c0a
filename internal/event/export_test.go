package event

// NewRedisWithSilence is NewRedis with another time until a silent connection is asked whether it is still there.
var NewRedisWithSilence = newRedis
