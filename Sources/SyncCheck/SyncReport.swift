/// What was measured of one source, or of the part of it that one clock coded.
package struct MeasuredSource: Codable, Hashable, Sendable {
    package struct Drift: Codable, Hashable, Sendable {
        /// How much faster the timeline runs than the clock that coded it, parts per million.
        package var driftPPM: Double
        /// How far from that straight line things lie.
        package var residual: Spread
    }

    package var name: String
    package var files: [String]
    /// With a code that can be read.
    package var pictures: Int
    package var unreadablePictures: Int
    package var beeps: Int
    /// Sources with the same number are coded by one clock, or by clocks that `--clock` relates; none without codes.
    package var clock: Int?
    /// Presentation less coded time of the first picture, nanoseconds, by the reference clock.
    package var deviationNanoseconds: Int64?
    /// Presentation of pictures against their codes.
    package var pictureDrift: Drift?
    /// Beeps against whole seconds.
    package var beepDrift: Drift?
    /// How far pictures lie from the timeline that all sources of one clock share.
    package var error: Spread?
    /// When sound is presented later than the picture of the same instant: of the beeps.
    package var soundSkew: Spread?
    /// The smallest and the largest bound that the recording itself states; none when it states nothing.
    package var recordedBoundNanoseconds: [Int64]?
}

/// What was measured between two sources of one clock.
package struct MeasuredPair: Codable, Hashable, Sendable {
    package var first: String
    package var second: String
    /// How much later the first source presents an instant than the second: of each of the first one's pictures.
    package var alignment: Spread
    /// How much faster the first one's timeline runs, parts per million.
    package var driftPPM: Double
    /// The largest sum of both sources' recorded bounds where they were compared; none when one states nothing.
    package var recordedBoundNanoseconds: Int64?
    /// Pictures whose alignment error is more than that sum.
    package var picturesBeyondBound: Int?
}

/// What `verify --sync` found.
package struct SyncReport: Codable, Hashable, Sendable {
    package var sources: [MeasuredSource]
    package var pairs: [MeasuredPair]
    /// Those without a test pattern, of which nothing can be measured.
    package var skippedSources: [String] = []
    /// The largest error that was allowed.
    package var limitNanoseconds: Int64?
    /// The largest that was found: of pairs, of a source that has no other of its clock, of sound against picture.
    package var worstNanoseconds: Int64?
    /// Why the recordings are not accepted, a line each.
    package var failures: [String]
    /// What else is worth knowing.
    package var notes: [String]

    package var isAccepted: Bool { failures.isEmpty }
}
