/// How much media is somewhere: its bytes, and the samples that they are. A sample costs memory besides its bytes, and of samples of
/// a few bytes that is nearly all.
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

    /// Whether nothing of it is negative, and there is as much of each as of the other.
    package func covers(_ other: MediaAmount) -> Bool {
        sizeBytes >= other.sizeBytes && samples >= other.samples
    }
}
