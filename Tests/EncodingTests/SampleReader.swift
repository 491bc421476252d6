import Encoding
import Media

/// Encoded samples in a decoder's input format.
enum SampleReader {
    static func track(_ format: VideoFormat) throws -> CodedTrack {
        CodedTrack(
            codec: format.codec.libraryName, codecTag: 0, configuration: try format.record(),
            content: .picture(
                CodedTrack.Picture(
                    width: Int(format.width), height: Int(format.height), format: nil, colour: nil,
                    rate: nil, hasConstantRate: false, sampleAspectRatio: nil)))
    }

    static func track(_ format: AudioFormat) -> CodedTrack {
        CodedTrack(
            codec: "aac", codecTag: 0, configuration: format.configuration,
            content: .sound(
                CodedTrack.Audio(
                    sampleRate: Int(format.sampleRate), channels: Int(format.channels),
                    blockBytes: 0, bitsPerSample: 0, bitRate: 0)))
    }

    static func packet(_ sample: EncodedSample) -> CodedPacket {
        packet(
            sample.track, sample.data, pts: sample.ptsNanoseconds, dts: sample.dtsNanoseconds,
            duration: sample.durationNanoseconds, isKeyframe: sample.flags.contains(.keyframe))
    }

    static func packet(
        _ track: TrackKind, _ data: [UInt8], pts: Int64?, dts: Int64 = 0, duration: Int64 = 0,
        isKeyframe: Bool = true
    ) -> CodedPacket {
        let memory = PacketMemory(data)
        return CodedPacket(
            track: track, ptsNanoseconds: pts, dtsNanoseconds: dts, durationNanoseconds: duration,
            isKeyframe: isKeyframe, isDiscarded: false, skippedAtStart: 0, skippedAtEnd: 0,
            newConfiguration: nil, bytes: memory.bytes, owner: memory)
    }
}

/// Bytes with the padding that decoders want.
// @unchecked: written in init only.
private final class PacketMemory: @unchecked Sendable {
    private let memory: UnsafeMutableRawBufferPointer
    let bytes: UnsafeRawBufferPointer

    init(_ data: [UInt8]) {
        memory = .allocate(byteCount: data.count + CodedPacket.paddingBytes, alignment: 16)
        memory.initializeMemory(as: UInt8.self, repeating: 0)
        memory.copyBytes(from: data)
        bytes = UnsafeRawBufferPointer(rebasing: memory[..<data.count])
    }

    deinit { memory.deallocate() }
}
