/// A packet to be written. Its bytes are copied before the call returns.
package struct ContainerPacket {
    /// Index into the writer's tracks.
    package var track: Int
    /// Ticks of the track's timescale.
    package var pts: Int64
    package var dts: Int64
    package var duration: Int64
    package var isKeyframe: Bool
    /// Decoded, but not presented.
    package var isDiscarded: Bool
    /// Audio frames at its end that are not presented.
    package var trimmedFrames: Int
    /// In the format of the track's configuration: with 4-byte lengths for an avcC record, raw packets for an
    /// AudioSpecificConfig.
    package var bytes: UnsafeRawBufferPointer

    package init(
        track: Int, pts: Int64, dts: Int64, duration: Int64, isKeyframe: Bool,
        isDiscarded: Bool = false, trimmedFrames: Int = 0, bytes: UnsafeRawBufferPointer
    ) {
        self.track = track
        self.pts = pts
        self.dts = dts
        self.duration = duration
        self.isKeyframe = isKeyframe
        self.isDiscarded = isDiscarded
        self.trimmedFrames = trimmedFrames
        self.bytes = bytes
    }
}
