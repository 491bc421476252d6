package import Media

/// The coding of a track's samples: one entry of `stsd` (ISO/IEC 14496-12 §8.5.2).
package struct SampleEntry: Hashable, Sendable {
    /// `avc1`, `mp4a`, …
    package var type: FourCC
    /// The decoder's configuration; nil for unsupported codecs.
    package var format: TrackFormat?
    /// Bytes of a NAL unit's length in the samples; 0 for other codecs.
    package var nalLengthSize = 0
    /// Visual entries: the coded picture's size in pixels.
    package var width: UInt16 = 0
    package var height: UInt16 = 0
    /// Audio entries: the entry's own fields; the decoder's configuration is authoritative.
    package var channels: UInt16 = 0
    package var sampleRate: UInt32 = 0
}

/// Writes the boxes that describe a format. Creating it validates the format, so that writing cannot fail.
struct SampleEntryWriter {
    /// The part that depends on the codec.
    private enum Entry {
        case video(
            VideoCodec, width: UInt16, height: UInt16, configuration: [UInt8],
            colour: ColourDescription?, shape: SampleAspectRatio?)
        case audio(AudioFormat, channels: UInt16, packetFrames: UInt32)
    }

    private let entry: Entry
    /// Display orientation.
    let orientation: PictureOrientation

    init(_ format: TrackFormat) throws(MP4Error) {
        orientation = format.orientation
        do {
            switch format {
            case .video(let format):
                let configuration = try format.record()
                entry = .video(
                    format.codec, width: try Self.narrow(format.width, "width", of: .video),
                    height: try Self.narrow(format.height, "height", of: .video),
                    configuration: configuration, colour: try format.properties().colour,
                    shape: format.pixelShape)
            case .audio(let format):
                guard (1...Self.maximumConfigurationSize).contains(format.configuration.count)
                else {
                    throw MP4Error.unwritableField(
                        .audio, field: "size of the decoder's configuration",
                        value: UInt64(format.configuration.count))
                }
                entry = .audio(
                    format, channels: try Self.narrow(format.channels, "channels", of: .audio),
                    packetFrames: try format.codec.coding.packetFrames(format))
            }
        } catch let error as BitstreamError {
            throw .unwritableFormat(format.kind, error)
        } catch let error as MP4Error {
            throw error
        } catch {
            preconditionFailure("only the two errors above are thrown: \(error)")
        }
    }

    /// Maximum decoder's configuration of audio; real ones have two to a few dozen bytes.
    static let maximumConfigurationSize = 4_096

    /// The display size, 16.16 (§8.3.2); zero for audio.
    var presentedSize: (width: UInt32, height: UInt32) {
        guard case .video(_, let width, let height, _, _, let shape) = entry else { return (0, 0) }
        var wide = UInt64(width) << 16
        if let ratio = shape {
            wide = wide * UInt64(ratio.horizontal) / UInt64(ratio.vertical)
        }
        return (UInt32(clamping: wide), UInt32(height) << 16)
    }

    /// `stsd` with one entry.
    func writeDescriptions(to writer: inout BoxWriter) {
        Self.writeDescriptions([self], flavour: .mp4, to: &writer)
    }

    /// `stsd` with one entry each.
    static func writeDescriptions(
        _ entries: [SampleEntryWriter], flavour: MovieFlavour, to writer: inout BoxWriter
    ) {
        writer.fullBox("stsd") { writer in
            writer.u32(UInt32(entries.count))
            for entry in entries { entry.write(flavour, to: &writer) }
        }
    }

    private func write(_ flavour: MovieFlavour, to writer: inout BoxWriter) {
        switch (entry, flavour) {
        case (.video(let codec, let width, let height, let configuration, let colour, let shape), _):
            Self.writeVisual(
                codec, width: width, height: height, configuration: configuration,
                colour: colour, shape: shape, to: &writer)
        case (.audio(let format, let channels, _), .mp4):
            Self.writeAudio(format, channels: channels, to: &writer)
        case (.audio(let format, let channels, let packetFrames), .quickTime):
            Self.writeQuickTimeAudio(
                format, channels: channels, packetFrames: packetFrames, to: &writer)
        }
    }

    private static func narrow(
        _ value: UInt32, _ field: String, of track: TrackKind
    ) throws(MP4Error) -> UInt16 {
        guard let narrow = UInt16(exactly: value), narrow > 0 else {
            throw .unwritableField(track, field: field, value: UInt64(value))
        }
        return narrow
    }

    /// The codec's sample entry (ISO/IEC 14496-15 §5.4.2, §8.4.1) on VisualSampleEntry (ISO/IEC 14496-12 §12.1.3).
    private static func writeVisual(
        _ codec: VideoCodec, width: UInt16, height: UInt16, configuration: [UInt8],
        colour: ColourDescription?,
        shape: SampleAspectRatio?, to writer: inout BoxWriter
    ) {
        writer.box(FourCC(codec.coding.entry)) { writer in
            writer.zeros(6)
            writer.u16(1)  // data_reference_index
            writer.zeros(16)
            writer.u16(width)
            writer.u16(height)
            writer.u32(0x0048_0000)  // 72 dpi
            writer.u32(0x0048_0000)
            writer.zeros(4)
            writer.u16(1)  // frame_count
            writer.zeros(32)  // compressorname
            writer.u16(0x0018)  // depth
            writer.u16(0xFFFF)
            codec.coding.configurationBox.write(configuration, to: &writer)
            if let colour {
                writer.box("colr") { writer in
                    writer.fourCC("nclx")
                    writer.u16(UInt16(colour.primaries))
                    writer.u16(UInt16(colour.transferCharacteristics))
                    writer.u16(UInt16(colour.matrixCoefficients))
                    writer.u8(colour.isFullRange ? 0x80 : 0)
                }
            }
            if let shape {
                writer.box("pasp") { writer in
                    writer.u32(UInt32(shape.horizontal))
                    writer.u32(UInt32(shape.vertical))
                }
            }
        }
    }

    /// The codec's sample entry (ISO/IEC 14496-14 §6.7) on AudioSampleEntry (ISO/IEC 14496-12 §12.2.3).
    private static func writeAudio(
        _ format: AudioFormat, channels: UInt16, to writer: inout BoxWriter
    ) {
        writer.box(FourCC(format.codec.coding.entry)) { writer in
            writer.zeros(6)
            writer.u16(1)  // data_reference_index
            writer.zeros(8)
            writer.u16(channels)
            writer.u16(16)  // samplesize
            writer.zeros(4)
            // 16.16: for a rate above 65,535 Hz, only the decoder's configuration has it.
            writer.u32(UInt32(UInt16(exactly: format.sampleRate) ?? 0) << 16)
            writeConfiguration(of: format, to: &writer)
        }
    }

    private static func writeConfiguration(of format: AudioFormat, to writer: inout BoxWriter) {
        switch format.codec.coding.configurationBox {
        case .elementaryStream(let objectTypes):
            writer.fullBox("esds") { writer in
                writer.raw(elementaryStreamDescriptor(objectTypes[0], format.configuration))
            }
        case .own(let box): box.write(format.configuration, to: &writer)
        }
    }

    /// Version 1 of a sound sample description (QuickTime File Format, "Sound Sample Description (Version 1)"):
    /// QuickTime only finds the configuration in `wave` (siDecompressionParam).
    private static func writeQuickTimeAudio(
        _ format: AudioFormat, channels: UInt16, packetFrames: UInt32, to writer: inout BoxWriter
    ) {
        let type = FourCC(format.codec.coding.entry)
        writer.box(type) { writer in
            writer.zeros(6)
            writer.u16(1)  // data_reference_index
            writer.u16(1)  // version
            writer.zeros(6)
            writer.u16(channels)
            writer.u16(16)  // samplesize
            writer.u16(0xFFFE)  // compression ID: variable bit rate
            writer.u16(0)
            writer.u32(UInt32(UInt16(exactly: format.sampleRate) ?? 0) << 16)
            writer.u32(packetFrames)  // samples per packet
            writer.u32(0)  // bytes per packet: they vary
            writer.u32(0)  // bytes per frame
            writer.u32(2)  // bytes per sample
            writer.box("wave") { writer in
                writer.box("frma") { $0.fourCC(type) }
                writer.box(type) { $0.zeros(4) }
                writeConfiguration(of: format, to: &writer)
                writer.zeros(3)
                writer.u8(8)  // the terminator atom: a size, and a type of zero
                writer.zeros(4)
            }
        }
    }

    /// ES_Descriptor (ISO/IEC 14496-1 §7.2.6.5) with a decoder's configuration.
    private static func elementaryStreamDescriptor(
        _ objectType: UInt8, _ configuration: [UInt8]
    ) -> [UInt8] {
        // The object type, an audio stream; buffer size and bit rates unknown.
        let decoder: [UInt8] =
            [objectType, 0x15] + Array(repeating: 0, count: 11)
            + descriptor(tag: 5, configuration)
        // ES_ID 0 as files have it (ISO/IEC 14496-14 §3.1.2), no flags; SLConfig predefined for MP4.
        return descriptor(
            tag: 3, [0, 0, 0] + descriptor(tag: 4, decoder) + descriptor(tag: 6, [2]))
    }

    /// A tag, the size in as many 7-bit groups as necessary (ISO/IEC 14496-1 §8.3.3), the content.
    private static func descriptor(tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        var size = [UInt8(content.count & 0x7F)]
        var rest = content.count >> 7
        while rest > 0 {
            size.insert(UInt8(rest & 0x7F) | 0x80, at: 0)
            rest >>= 7
        }
        return [tag] + size + content
    }
}
