/// What a fragment may hold. Who writes keeps within these limits, and who reads refuses what is past them, so that nothing is
/// written that cannot be read.
package enum FragmentLimits {
    /// The largest `moof` that is read: a second of media needs a few kilobytes.
    package static let moofSizeBytes: Int64 = 16 << 20
    /// The largest `mdat` of a fragment, which who checks digests has in memory: sixty times the largest message.
    package static let mediaSizeBytes: Int64 = 256 << 20
    /// The most samples; a second has a few hundred. With all their columns they take a quarter of the largest `moof`.
    package static let samples = 1 << 18
    /// The longest distance from the beginning of a file's timeline, seconds: sixty-eight years, twice as far as a collector places
    /// samples from a session's zero.
    package static let seconds: Int64 = 1 << 31
    /// The most ticks that are added to a track's times: what one track has before the other begins. 92 years at the highest
    /// sampling frequency, more than ``seconds``: no two samples of a session are farther apart. It leaves room for every sum of times.
    package static let mediaTimeShift: Int64 = 1 << 51
    /// The longest that one sample may last in a file that is to be finished, ticks: `stts` has 32 bits for it (ISO/IEC 14496-12
    /// §8.6.1.2), and half of what they hold leaves room for retiming. 6.6 hours at 90 kHz.
    package static let durationTicks = Int64(UInt32.max / 2)
}
