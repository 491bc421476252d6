import Containers
import Media

/// A container written by several tracks in turn. Owned by one thread.
final class MuxedOutput {
    private var writer: ContainerWriter?
    /// Packets of each track so far.
    private(set) var packets: [Int]

    /// Opens the container at the output's temporary path.
    init(
        _ output: OutputFile, format: ContainerFormat, tracks: [ContainerTrack],
        isFastStart: Bool, control: WorkControl
    ) throws {
        var options = ContainerWriterOptions()
        options.name = output.path
        if format.isISO {
            if isFastStart { options.muxerOptions["movflags"] = "+faststart" }
            // Fine enough for exact edit lists.
            options.muxerOptions["movie_timescale"] = "90000"
        }
        packets = tracks.map { _ in 0 }
        writer = try ContainerWriter(
            to: .file(output.temporaryPath), format: format, tracks: tracks, options: options,
            cancellation: control.cancellation)
    }

    func write(_ packet: ContainerPacket) throws {
        try writer?.write(packet)
        packets[packet.track] += 1
    }

    /// Writes a packet with its bytes in an array.
    func write(
        _ bytes: [UInt8], track: Int, pts: Int64, dts: Int64, duration: Int64, isKeyframe: Bool,
        trimmedFrames: Int = 0
    ) throws {
        try bytes.withUnsafeBytes {
            try write(
                ContainerPacket(
                    track: track, pts: pts, dts: dts, duration: duration, isKeyframe: isKeyframe,
                    trimmedFrames: trimmedFrames, bytes: $0))
        }
    }

    /// Writes the trailer.
    func finish() throws {
        guard let writer = writer.take() else { return }
        try writer.finish()
    }
}
