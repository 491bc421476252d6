import Devices
import Encoding
import Media
import TestMedia
import Testing

@Suite struct CopierTests {
    private func encoded(_ size: PictureSize, count: Int = 3) throws -> (
        format: H264Format, samples: [EncodedSample]
    ) {
        var settings = VideoEncoderSettings(
            size: size, frameRate: FrameRate(30), hasConstantRate: true)
        settings.threads = 1
        var encoder = try VideoEncoder(settings)
        var painter = TestPicture(size: size, sourceName: "a", utcOffsetNanoseconds: 0)
        var samples: [EncodedSample] = []
        for number in 0..<Int64(count) {
            let frame = painter.paint(
                number: number, captureNanoseconds: number * 40_000_000, durationNanoseconds: 1)
            try encoder.encode(frame) { samples.append($0) }
        }
        return (encoder.format, samples)
    }

    private let size = PictureSize(width: 320, height: 180)

    private func track(_ format: H264Format, _ configuration: [UInt8]) throws -> CodedTrack {
        var track = try SampleReader.track(format)
        track.configuration = configuration
        return track
    }

    private func lengthPrefixed(_ nalUnits: [[UInt8]]) -> [UInt8] {
        nalUnits.reduce(into: []) { appendLengthPrefixed($1.span, to: &$0) }
    }

    /// The same access unit with lengths of another size.
    private func relengthed(_ data: [UInt8], to lengthSize: Int) throws -> [UInt8] {
        var result: [UInt8] = []
        var cursor = NALUnitCursor()
        while let unit = try cursor.next(in: data.span) {
            let length = unit.range.count
            for byte in (0..<lengthSize).reversed() {
                result.append(UInt8(truncatingIfNeeded: length >> (8 * byte)))
            }
            result += data[unit.range]
        }
        return result
    }

    @Test(arguments: [2, 4])
    func `NAL units come out bit for bit whatever the size of their lengths`(
        lengthSize: Int
    ) throws {
        let (format, samples) = try encoded(size)
        var record = try AVCDecoderConfiguration(format)
        record.lengthSize = lengthSize
        var copier = try H264Copier(track(format, record.bytes()))
        #expect(copier.format == format)
        for sample in samples {
            let source = try relengthed(sample.data, to: lengthSize)
            let output = try copier.copy(
                SampleReader.packet(
                    .video, source, pts: sample.ptsNanoseconds, dts: sample.dtsNanoseconds,
                    isKeyframe: sample.flags.contains(.keyframe)))
            #expect(output.newFormat == nil)
            #expect(output.sample?.data == sample.data)
            #expect(output.sample?.flags == sample.flags)
        }
    }

    @Test func `Annex B becomes length-prefixed, in-band parameter sets included`() throws {
        let (format, samples) = try encoded(size, count: 1)
        let sets = format.sequenceParameterSets + format.pictureParameterSets
        let header = sets.reduce(into: [UInt8]()) { $0 += [0, 0, 0, 1] + $1 }
        let unit = samples[0].data
        let stream = header + (try AnnexB.stream(fromLengthPrefixed: unit.span))
        var copier = try H264Copier(track(format, header))
        let output = try copier.copy(SampleReader.packet(.video, stream, pts: 0))
        let inBand = lengthPrefixed(sets)
        #expect(output.sample?.data == inBand + samples[0].data)
        #expect(output.newFormat == nil)
    }

    /// `avc3`, and an `avc1` with an empty `avcC`.
    @Test(arguments: [2, 4])
    func `parameter sets that only come with the pictures are the format`(
        lengthSize: Int
    ) throws {
        let (format, samples) = try encoded(size, count: 2)
        var record = try AVCDecoderConfiguration(format)
        record.sequenceParameterSets = []
        record.pictureParameterSets = []
        record.lengthSize = lengthSize
        let track = try track(format, record.bytes())
        #expect(try !track.isDescribed)
        let inBand = lengthPrefixed(format.sequenceParameterSets + format.pictureParameterSets)
        let first = try relengthed(inBand + samples[0].data, to: lengthSize)
        let packet = SampleReader.packet(.video, first, pts: 0, dts: 0)
        var copier = try H264Copier(track, firstPacket: packet)
        #expect(copier.format == format)
        let output = try copier.copy(packet)
        #expect(output.newFormat == nil)
        #expect(output.sample?.data == inBand + samples[0].data)

        let bare = try relengthed(samples[0].data, to: lengthSize)
        #expect(throws: EncodingError.noParameterSets) {
            _ = try H264Copier(track, firstPacket: SampleReader.packet(.video, bare, pts: 0))
        }
        #expect(throws: EncodingError.noParameterSets) { _ = try H264Copier(track) }
    }

    @Test func `a length past the packet's end is damage that is said`() throws {
        let (format, samples) = try encoded(size, count: 1)
        var copier = try H264Copier(SampleReader.track(format))
        var data = samples[0].data
        data[1] = 0x7F
        #expect(throws: EncodingError.self) {
            _ = try copier.copy(SampleReader.packet(.video, data, pts: 0, dts: 0))
        }
    }

    @Test func `a new sequence parameter set in the stream is a new format`() throws {
        let (format, _) = try encoded(size, count: 1)
        let other = PictureSize(width: 640, height: 360)
        let (newFormat, newSamples) = try encoded(other, count: 2)
        var copier = try H264Copier(SampleReader.track(format))
        let sets = newFormat.sequenceParameterSets + newFormat.pictureParameterSets
        let inBand = lengthPrefixed(sets)
        let changed = try copier.copy(
            SampleReader.packet(.video, inBand + newSamples[0].data, pts: 0))
        #expect(changed.newFormat == newFormat)
        #expect(changed.newFormat?.width == 640)
        let next = try copier.copy(SampleReader.packet(.video, newSamples[1].data, pts: 40))
        #expect(next.newFormat == nil)
    }

    private typealias Sequence = H264Writer.Sequence

    /// A copier of a stream that is described by this set.
    private func copier(_ sequence: Sequence) throws -> H264Copier {
        let record = FLVFile.record([sequence.nalUnit], [H264Writer.pictureSet()])
        return try H264Copier(track(H264Format(extradata: record), record))
    }

    private func copy(
        _ nalUnits: [[UInt8]], _ copier: inout H264Copier
    ) throws -> H264Copier.Output {
        try copier.copy(SampleReader.packet(.video, lengthPrefixed(nalUnits), pts: 0))
    }

    @Test func `a set that was added or replaced comes with each access point from then on`() throws
    {
        let (first, second) = (Sequence(timeScale: 20), Sequence(timeScale: 50))
        let later = H264Writer.pictureSet(7)
        var copier = try copier(first)
        func picture(_ kind: H264Writer.Picture.Kind) -> [[UInt8]] {
            H264Writer.Picture(kind, number: 0, order: 0).slices(first)
        }
        let start = picture(.idr(id: 0))
        #expect(try copy(start, &copier).sample?.data == lengthPrefixed(start))
        // In front of a picture that is no access point: only there, as the source has it.
        let middle = [second.nalUnit, later] + picture(.repeated)
        let output = try copy(middle, &copier)
        #expect(output.newFormat == nil)
        #expect(output.sample?.data == lengthPrefixed(middle))
        let next = [H264Writer.delimiter] + picture(.idr(id: 1))
        #expect(
            try copy(next, &copier).sample?.data
                == lengthPrefixed([next[0], second.nalUnit, later, next[1]]))
        // The first one again, for a decoder that starts where the second applied.
        _ = try copy([first.nalUnit] + picture(.repeated), &copier)
        #expect(
            try copy(start, &copier).sample?.data
                == lengthPrefixed([first.nalUnit, later] + start))
        #expect(copier.format.sequenceParameterSets == [first.nalUnit])
    }

    @Test func `pictures before the first access point are none`() throws {
        let sequence = Sequence()
        var copier = try copier(sequence)
        func picture(_ kind: H264Writer.Picture.Kind, _ number: UInt32) -> [[UInt8]] {
            H264Writer.Picture(kind, number: number, order: 2 * number).slices(sequence)
        }
        #expect(try copy(picture(.repeated, 1), &copier).sample == nil)
        let recovery = [H264Writer.recoveryPoint(2)] + picture(.refreshed(row: 0), 2)
        #expect(try copy(recovery, &copier).sample?.flags == [.keyframe, .priming])
        #expect(try copy(picture(.refreshed(row: 1), 3), &copier).sample?.flags == .priming)
        #expect(try copy(picture(.repeated, 4), &copier).sample?.flags == [])
        // Refresh continues throughout the stream, so it cannot be cut there.
        #expect(try copy(recovery, &copier).sample?.flags == [])
        #expect(try copy(picture(.idr(id: 0), 0), &copier).sample?.flags == .keyframe)
    }

    @Test func `a container's new configuration is a new format`() throws {
        let (format, _) = try encoded(size, count: 1)
        let (newFormat, samples) = try encoded(PictureSize(width: 640, height: 360), count: 1)
        var copier = try H264Copier(SampleReader.track(format))
        var packet = SampleReader.packet(samples[0])
        packet.newConfiguration = try AVCDecoderConfiguration(newFormat).bytes()
        #expect(try copier.copy(packet).newFormat == newFormat)
    }

    @Test func `only H264 and AAC are copied`() throws {
        var track = try SampleReader.track(encoded(size, count: 1).format)
        track.codec = "vp9"
        #expect(throws: EncodingError.notCopied(codec: "vp9", needed: "H.264")) {
            _ = try H264Copier(track)
        }
        var sound = SampleReader.track(
            AACFormat(configuration: [0x11, 0x90], sampleRate: 48_000, channels: 2))
        sound.codec = "opus"
        #expect(throws: EncodingError.notCopied(codec: "opus", needed: "AAC")) {
            _ = try AACCopier(sound, firstPacket: nil)
        }
    }

    @Test func `ADTS headers go, and the configuration that they stood for comes`() throws {
        let configuration = try AudioSpecificConfig(lowComplexityAt: 44_100, channels: 2)
        let payload: [UInt8] = [0x21, 1, 2, 3, 4, 5]
        let header = try ADTSHeader(for: configuration, payloadSizeBytes: payload.count)
        let packet = SampleReader.packet(.audio, header.bytes() + payload, pts: 5)
        var track = SampleReader.track(
            AACFormat(configuration: [], sampleRate: 44_100, channels: 2))
        track.configuration = []
        var copier = try AACCopier(track, firstPacket: packet)
        #expect(copier.format.configuration == configuration.bytes())
        #expect(copier.format.sampleRate == 44_100 && copier.format.channels == 2)
        #expect(try copier.copy(packet)?.data == payload)
    }

    @Test func `packets that are skipped as a whole are priming, and come once`() throws {
        let track = SampleReader.track(
            AACFormat(configuration: [0x11, 0x90], sampleRate: 48_000, channels: 2))
        var copier = try AACCopier(track, firstPacket: nil)
        // Apple's encoder delay: two whole packets and 64 frames of the third.
        var first = SampleReader.packet(.audio, [1], pts: -44_000_000, dts: -44_000_000)
        first.skippedAtStart = 2112
        var flags: [SampleFlags?] = [try copier.copy(first)?.flags]
        for number in 1...3 as ClosedRange<Int64> {
            let packet = SampleReader.packet(.audio, [1], pts: number * 21_333_333 - 44_000_000)
            flags.append(try copier.copy(packet)?.flags)
        }
        #expect(flags == [[.keyframe, .priming], [.keyframe, .priming], .keyframe, .keyframe])
        // The same file's next round.
        first.ptsNanoseconds = 2_000_000_000
        #expect(try copier.copy(first) == nil)
    }
}
