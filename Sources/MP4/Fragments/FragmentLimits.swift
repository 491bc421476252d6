/// Limits of a fragment. Writers keep them and readers enforce them, so that every written fragment is readable.
package enum FragmentLimits {
    /// Maximum `moof`: a second of media needs a few kilobytes.
    package static let moofSizeBytes: Int64 = 16 << 20
    /// Maximum `mdat` of a fragment, which digest checks keep in memory: sixty times the largest message.
    package static let mediaSizeBytes: Int64 = 256 << 20
    /// Maximum number of samples; a second has a few hundred. With all columns they use a quarter of the largest
    /// `moof`.
    package static let samples = 1 << 18
    /// Maximum distance from the start of a file's timeline, seconds: 68 years, twice the maximum distance of a sample
    /// from a session's zero.
    package static let seconds: Int64 = 1 << 31
    /// Maximum shift of a track's times, ticks: the time by which one track precedes the other. 92 years at the highest
    /// sampling rate, more than ``seconds``: no two samples of a session are farther apart. It leaves room for every
    /// sum of times.
    package static let mediaTimeShift: Int64 = 1 << 51
    /// Maximum duration of one sample in a file that will be finished, ticks: `stts` has 32 bits for it (ISO/IEC
    /// 14496-12 §8.6.1.2), and half of that leaves room for retiming. 6.6 hours at 90 kHz.
    package static let durationTicks = Int64(UInt32.max / 2)
}
