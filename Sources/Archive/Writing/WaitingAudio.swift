import Media

/// Audio in a format that the open file cannot contain, until a picture lets the next file begin.
struct WaitingAudio: Sendable {
    /// The formats of the file that it will be in.
    let formats: TrackFormats
    /// Arrival of its first piece, on the caller's clock.
    let sinceNanoseconds: Int64
    private(set) var pieces: [PlannedPiece] = []
    private(set) var sizeBytes = 0

    init(formats: TrackFormats, sinceNanoseconds: Int64) {
        self.formats = formats
        self.sinceNanoseconds = sinceNanoseconds
    }

    mutating func add(_ sound: [PlannedPiece]) {
        pieces += sound
        sizeBytes += sound.reduce(0) { $0 + $1.range.count }
    }
}
