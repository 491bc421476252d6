/// What a source's pictures and sound say of when they were captured, beside when they are presented.
package struct Observations: Sendable {
    /// A picture whose code can be read.
    package struct Picture: Hashable, Sendable {
        /// On the timeline that all sources share, nanoseconds.
        package var presentationNanoseconds: Int64
        /// What the code says, nanoseconds of the source's clock.
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
    /// When the beeps begin on the shared timeline, nanoseconds, in order.
    package var beeps: [Int64] = []
    /// Packets that the decoder refused.
    package var damagedPackets = 0

    package init() {}
}

/// A source as it is compared with others.
package struct ObservedSource: Sendable {
    package var name: String
    /// Paths of its recordings.
    package var files: [String]
    package var observations: Observations
    package var clock: ReferenceClock
    /// What the recording itself says of how well its times are known; nothing when it says nothing.
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
