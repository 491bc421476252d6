/// A sample's capture time on the session's timeline.
package struct SampleStamps: Hashable, Sendable {
    package var ptsNanoseconds: Int64
    package var dtsNanoseconds: Int64
    /// As the agent reports it, not mapped: an audio packet has a fixed number of ticks.
    package var durationNanoseconds: Int64

    package init(ptsNanoseconds: Int64, dtsNanoseconds: Int64, durationNanoseconds: Int64) {
        self.ptsNanoseconds = ptsNanoseconds
        self.dtsNanoseconds = dtsNanoseconds
        self.durationNanoseconds = durationNanoseconds
    }
}

/// A sample's position on its track, in ticks from the session's zero.
package struct Placement: Hashable, Sendable {
    package var ptsTicks: Int64
    package var dtsTicks: Int64
    package var durationTicks: Int64
    /// From the end of the previous sample to this one's DTS; negative where they overlap, 0 for the first.
    package var gapTicks: Int64
    /// The rules that were applied, empty for an ordinary sample.
    package var faults: [StampFault]
}
