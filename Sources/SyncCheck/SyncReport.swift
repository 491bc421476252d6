/// The result for one source, or for the part of it that one clock coded.
package struct MeasuredSource: Codable, Hashable, Sendable {
    package struct Drift: Codable, Hashable, Sendable {
        /// Skew of the timeline against the clock that coded it, parts per million; positive: faster.
        package var driftPPM: Double
        /// Deviation from the line with that skew.
        package var residual: Spread
    }

    package var name: String
    package var files: [String]
    /// Pictures with a readable code.
    package var pictures: Int
    package var unreadablePictures: Int
    package var beeps: Int
    /// Beeps whose delay the recorded bounds, a packet of sound and the pictures' distance do not explain.
    package var beepsBeyondBound: Int
    /// Sources with the same number were coded by one clock, or by clocks that `--clock` relates; nil without codes.
    package var clock: Int?
    /// Presentation time minus coded time of the first picture, nanoseconds, by the reference clock.
    package var deviationNanoseconds: Int64?
    /// Presentation of pictures against their codes.
    package var pictureDrift: Drift?
    /// Beeps against whole seconds.
    package var beepDrift: Drift?
    /// Deviation of pictures from the timeline that all sources of one clock share.
    package var error: Spread?
    /// Pictures with an error above the recorded bounds; nil without any bound.
    package var picturesBeyondBound: Int?
    /// Delay of beeps after the picture of the same instant; negative: early.
    package var soundSkew: Spread?
    /// The smallest and the largest bound that the recording itself states; nil without any.
    package var recordedBoundNanoseconds: [Int64]?
}

/// The comparison of two sources of one clock.
package struct MeasuredPair: Codable, Hashable, Sendable {
    package var first: String
    package var second: String
    /// Delay of the first source against the second, over the first source's pictures.
    package var alignment: Spread
    /// Skew of the first one's timeline against the second's, parts per million.
    package var driftPPM: Double
    /// The largest sum of both sources' recorded bounds in the compared range; nil if one states none.
    package var recordedBoundNanoseconds: Int64?
    /// Pictures with an alignment error above that sum.
    package var picturesBeyondBound: Int?
}

/// The result of `verify --sync`.
package struct SyncReport: Codable, Hashable, Sendable {
    package var sources: [MeasuredSource]
    package var pairs: [MeasuredPair]
    /// Sources without a test pattern, which cannot be measured.
    package var skippedSources: [String] = []
    /// The largest accepted error.
    package var limitNanoseconds: Int64?
    /// The largest error: of a pair, of a source that no other one shares a clock with, or of audio against video.
    package var worstNanoseconds: Int64?
    /// The reasons for rejecting the recordings, one line each.
    package var failures: [String]
    /// Further notes.
    package var notes: [String]

    /// Numbers of pictures with a readable code, and of all pictures of the measured sources.
    package var pictures: (measured: Int, all: Int) {
        let measured = sources.reduce(0) { $0 + $1.pictures }
        // The parts of a source that several clocks coded have its unreadable pictures in common.
        let unreadable = Dictionary(
            sources.map { ($0.files, $0.unreadablePictures) }, uniquingKeysWith: max)
        return (measured, measured + unreadable.values.reduce(0, +))
    }

    package var isAccepted: Bool { failures.isEmpty }
}
