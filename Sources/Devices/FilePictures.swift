import Media

/// Repacks a file's pictures into one packet per picture (``PictureAssembler``).
///
/// A joined packet has the times of the packet with the picture's first slice, and lasts until the end of its last
/// packet. Pictures of one packet share its duration; without one, only the first of them has times.
struct FilePictures {
    private var assembler: PictureAssembler<Demuxer.Output>

    /// - Returns: nil for another codec.
    init?(_ track: CodedTrack) {
        guard let codec = track.videoCodec,
            let assembler = PictureAssembler<Demuxer.Output>(
                codec, configuration: track.configuration)
        else { return nil }
        self.assembler = assembler
    }

    /// Adds the next packet; returns the pictures that are complete.
    mutating func add(_ output: Demuxer.Output) -> [Demuxer.Output] {
        let packet = output.packet
        return assembler.add(output, packet.bytes, newConfiguration: packet.newConfiguration)
            .map(Self.output)
    }

    /// No packet follows: the last picture.
    mutating func finish() -> [Demuxer.Output] { assembler.finish().map(Self.output) }

    private static func output(_ picture: PictureAssembler<Demuxer.Output>.Picture)
        -> Demuxer.Output
    {
        var output = picture.packet
        output.packet.isKeyframe = picture.isSync
        output.isDamaged = picture.damage != nil || picture.parts.contains { $0.isDamaged }
        guard let bytes = picture.bytes else { return output }
        output.packet = output.packet.with(bytes.withUnsafeBytes { PaddedBytes($0) })
        let parts = picture.parts.map(\.packet)
        output.packet.newConfiguration = parts.compactMap(\.newConfiguration).last
        let (index, count) = picture.place
        if count > 1 {
            let share = picture.packet.packet.durationNanoseconds / Int64(count)
            let later = share * Int64(index)
            let hasTime = index == 0 || share > 0
            output.packet.durationNanoseconds = share
            output.packet.ptsNanoseconds =
                hasTime ? output.packet.ptsNanoseconds.map { $0 + later } : nil
            output.dtsNanoseconds = hasTime ? output.dtsNanoseconds.map { $0 + later } : nil
        } else {
            let longest = parts.map(\.durationNanoseconds).max() ?? 0
            let known = picture.parts.compactMap { part in
                part.dtsNanoseconds.map { (start: $0, end: $0 + part.packet.durationNanoseconds) }
            }
            let span = (known.map(\.end).max() ?? 0) - (known.first?.start ?? 0)
            output.packet.durationNanoseconds = longest == 0 ? 0 : max(longest, span)
        }
        return output
    }
}
