/// Capture times of a source's pictures and audio, with their presentation times.
package struct Observations: Sendable {
    /// A picture with a readable code.
    package struct Picture: Hashable, Sendable {
        /// Presentation time on the timeline that all sources share, nanoseconds.
        package var presentationNanoseconds: Int64
        /// The coded time, nanoseconds of the source's clock.
        package var codedNanoseconds: Int64

        package init(presentationNanoseconds: Int64, codedNanoseconds: Int64) {
            self.presentationNanoseconds = presentationNanoseconds
            self.codedNanoseconds = codedNanoseconds
        }
    }

    /// In the order of presentation: 16 bytes each, 41 MB for a day at 30 pictures per second.
    package var pictures: [Picture] = []
    /// Pictures without a code, or with a damaged one.
    package var unreadablePictures = 0
    /// Starts of the beeps on the shared timeline, nanoseconds, in order.
    package var beeps: [Int64] = []
    /// Packets that could not be decoded.
    package var damagedPackets = 0

    package init() {}

    /// Moves all times.
    /// - Parameter shift: of a time, nanoseconds.
    package mutating func move(by shift: (Int64) -> Int64) {
        for index in pictures.indices {
            pictures[index].presentationNanoseconds += shift(
                pictures[index].presentationNanoseconds)
        }
        for index in beeps.indices { beeps[index] += shift(beeps[index]) }
    }
}

/// A source to be compared with others.
package struct ObservedSource: Sendable {
    package var name: String
    /// Paths of its recordings.
    package var files: [String]
    package var observations: Observations
    package var clock: ReferenceClock
    /// The error bounds stated in the recording; empty without any.
    package var bounds: RecordedBounds

    package init(
        name: String, files: [String], observations: Observations,
        clock: ReferenceClock = .itself, bounds: RecordedBounds = RecordedBounds()
    ) {
        self.name = name
        self.files = files
        self.observations = observations
        self.clock = clock
        self.bounds = bounds
    }
}
