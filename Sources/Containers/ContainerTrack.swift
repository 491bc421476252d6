package import Media

/// A track to be written.
package struct ContainerTrack: Hashable, Sendable {
    /// Its codec, by FFmpeg's name, and the decoder's configuration.
    package var track: CodedTrack
    /// Timescale of the packets' times.
    package var timescale: Timescale
    /// Audio frames at the start that are decoded but not presented, for containers with a field for it (Opus).
    package var primingFrames = 0

    package init(_ track: CodedTrack, timescale: Timescale, primingFrames: Int = 0) {
        self.track = track
        self.timescale = timescale
        self.primingFrames = primingFrames
    }

    /// A recording's track, in the timescale that recordings use for it.
    package init(_ format: TrackFormat) throws(ContainerError) {
        timescale = format.timescale
        do throws(BitstreamError) {
            track = try CodedTrack(format)
        } catch {
            throw .badTrack(codec: "\(format.kind)", reason: error.description)
        }
    }
}
