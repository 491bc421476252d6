/// An amount of media: bytes and samples. A sample has a memory overhead, which dominates for samples of a few bytes.
package struct MediaAmount: Hashable, Sendable {
    package var sizeBytes: Int
    package var samples: Int

    package init(sizeBytes: Int = 0, samples: Int = 0) {
        self.sizeBytes = sizeBytes
        self.samples = samples
    }

    package static func += (total: inout MediaAmount, other: MediaAmount) {
        total.sizeBytes += other.sizeBytes
        total.samples += other.samples
    }

    package static func -= (total: inout MediaAmount, other: MediaAmount) {
        total.sizeBytes -= other.sizeBytes
        total.samples -= other.samples
    }

    /// Whether both parts are at least those of `other`.
    package func covers(_ other: MediaAmount) -> Bool {
        sizeBytes >= other.sizeBytes && samples >= other.samples
    }
}
