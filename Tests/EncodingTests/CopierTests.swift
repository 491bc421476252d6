import Devices
import Encoding
import Media
import TestMedia
import Testing

@Suite struct CopierTests {
    private func encoded(_ size: PictureSize, count: Int = 3) throws -> (
        format: VideoFormat, samples: [EncodedSample]
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

    private func track(_ format: VideoFormat, _ configuration: [UInt8]) throws -> CodedTrack {
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
    func `NAL units are copied unchanged at any length size`(
        lengthSize: Int
    ) throws {
        let (format, samples) = try encoded(size)
        var record = try AVCDecoderConfiguration(format)
        record.lengthSize = lengthSize
        var copier = try VideoCopier(track(format, record.bytes()))
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

    @Test func `Annex B becomes length-prefixed units with in-band parameter sets`() throws {
        let (format, samples) = try encoded(size, count: 1)
        let sets = format.parameterSets
        let header = sets.reduce(into: [UInt8]()) { $0 += [0, 0, 0, 1] + $1 }
        let unit = samples[0].data
        let stream = header + (try AnnexB.stream(fromLengthPrefixed: unit.span))
        var copier = try VideoCopier(track(format, header))
        let output = try copier.copy(SampleReader.packet(.video, stream, pts: 0))
        let inBand = lengthPrefixed(sets)
        #expect(output.sample?.data == inBand + samples[0].data)
        #expect(output.newFormat == nil)
    }

    /// `avc3`, and an `avc1` with an empty `avcC`.
    @Test(arguments: [2, 4])
    func `without parameter sets in the container, those of the first picture are used`(
        lengthSize: Int
    ) throws {
        let (format, samples) = try encoded(size, count: 2)
        var record = try AVCDecoderConfiguration(format)
        record.sequenceParameterSets = []
        record.pictureParameterSets = []
        record.lengthSize = lengthSize
        let track = try track(format, record.bytes())
        #expect(try !track.isDescribed)
        let inBand = lengthPrefixed(format.parameterSets)
        let first = try relengthed(inBand + samples[0].data, to: lengthSize)
        let packet = SampleReader.packet(.video, first, pts: 0, dts: 0)
        var copier = try VideoCopier(track, firstPacket: packet)
        #expect(copier.format == format)
        let output = try copier.copy(packet)
        #expect(output.newFormat == nil)
        #expect(output.sample?.data == inBand + samples[0].data)

        let bare = try relengthed(samples[0].data, to: lengthSize)
        #expect(throws: EncodingError.noParameterSets(codec: "H.264")) {
            _ = try VideoCopier(track, firstPacket: SampleReader.packet(.video, bare, pts: 0))
        }
        #expect(throws: EncodingError.noParameterSets(codec: "H.264")) {
            _ = try VideoCopier(track)
        }
    }

    @Test func `a length past the packet's end is an error`() throws {
        let (format, samples) = try encoded(size, count: 1)
        var copier = try VideoCopier(SampleReader.track(format))
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
        var copier = try VideoCopier(SampleReader.track(format))
        let sets = newFormat.parameterSets
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
    private func copier(_ sequence: Sequence) throws -> VideoCopier {
        let record = FLVFile.record([sequence.nalUnit], [H264Writer.pictureSet()])
        return try VideoCopier(track(VideoFormat(.h264, extradata: record), record))
    }

    private func copy(
        _ nalUnits: [[UInt8]], _ copier: inout VideoCopier
    ) throws -> VideoCopier.Output {
        try copier.copy(SampleReader.packet(.video, lengthPrefixed(nalUnits), pts: 0))
    }

    @Test func `a set that was added or replaced is in each later access point`() throws {
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
                == lengthPrefixed([
                    next[0], second.nalUnit, H264Writer.pictureSet(), later, next[1],
                ]))
        // The first one again, for a decoder that starts where the second applied.
        _ = try copy([first.nalUnit] + picture(.repeated), &copier)
        #expect(
            try copy(start, &copier).sample?.data
                == lengthPrefixed([first.nalUnit, H264Writer.pictureSet(), later] + start))
        #expect(copier.format.sets(.sequence) == [first.nalUnit])
    }

    /// A copier of H.265 in Annex B with sets in the samples.
    private func copyH265(_ packets: [[[UInt8]]]) throws -> (VideoCopier, [VideoCopier.Output]) {
        let sets: [UInt8] = H265Stream.sets.flatMap { [0, 0, 0, 1] + $0 }
        let track = CodedTrack(
            codec: "hevc", codecTag: 0, configuration: sets,
            content: .picture(
                CodedTrack.Picture(
                    width: 64, height: 64, format: nil, colour: nil, rate: nil,
                    hasConstantRate: false, sampleAspectRatio: nil)))
        var copier = try VideoCopier(track)
        let outputs = try packets.enumerated().map { number, nalUnits in
            let bytes: [UInt8] = nalUnits.flatMap { [0, 0, 0, 1] + $0 }
            return try copier.copy(SampleReader.packet(.video, bytes, pts: Int64(number)))
        }
        return (copier, outputs)
    }

    @Test func `H.265's sets are in the format, and not in the samples`() throws {
        let delimiter: [UInt8] = [0x46, 0x01, 0x50]
        let packets = H265Stream.pictures.enumerated().map { number, picture in
            [0, 7, 15].contains(number)
                ? [delimiter] + H265Stream.sets + [picture] : [delimiter, picture]
        }
        let (copier, outputs) = try copyH265(packets)
        #expect(copier.format.parameterSets == H265Stream.sets)
        #expect(outputs.allSatisfy { $0.newFormat == nil })
        #expect(
            outputs.map { $0.sample?.data }
                == H265Stream.pictures.map { H265Stream.accessUnit([delimiter, $0]) })
        #expect(outputs.indices.filter { outputs[$0].sample?.flags == .keyframe } == [0, 7, 15])
    }

    @Test func `H.265 begins at a random access picture, without its RASL pictures`() throws {
        let packets = H265Stream.pictures.dropFirst(3).map { [$0] }
        let (_, outputs) = try copyH265(packets)
        let kept = outputs.indices.filter { outputs[$0].sample != nil }.map { $0 + 3 }
        #expect(kept == [7] + Array(9..<20))
    }

    @Test func `any other set of H.265 is a new format at the next access point`() throws {
        // Only an unparsed field at the end of the picture set differs.
        let other = H265Stream.pictureSet.dropLast() + [0x41, 0x80]
        var packets = H265Stream.pictures.map { [$0] }
        packets[4] = [Array(other), packets[4][0]]
        let (copier, outputs) = try copyH265(packets)
        #expect(outputs.indices.filter { outputs[$0].newFormat != nil } == [7])
        #expect(copier.format.sets(.picture) == [Array(other)])
        // It came where it is needed, and is in the format from there on.
        #expect(outputs[4].sample?.data == H265Stream.accessUnit(packets[4]))
        #expect(outputs[15].sample?.data == H265Stream.accessUnit(packets[15]))
    }

    @Test func `an H.265 parameter set that alternates stays in the samples`() throws {
        let own = H265Stream.pictureSet
        let other = Array(own.dropLast() + [0x41, 0x80])
        var packets = H265Stream.pictures.map { [$0] }
        packets[2].insert(other, at: 0)
        packets[4].insert(own, at: 0)
        packets[15].insert(own, at: 0)
        let (copier, outputs) = try copyH265(packets)
        #expect(outputs.allSatisfy { $0.newFormat == nil })
        #expect(copier.format.parameterSets == H265Stream.sets)
        #expect(outputs[2].sample?.data == H265Stream.accessUnit([other, packets[2][1]]))
        #expect(outputs[4].sample?.data == H265Stream.accessUnit([own, packets[4][1]]))
        // A decoder that was elsewhere gets it at the next access point; from then on, it is in the format alone.
        #expect(outputs[7].sample?.data == H265Stream.accessUnit([own, packets[7][0]]))
        #expect(outputs[15].sample?.data == H265Stream.accessUnit([packets[15][1]]))
    }

    @Test func `RASL pictures after a discontinuity are dropped`() throws {
        // The CRA pictures have a RASL picture each, after them.
        func kept(_ packets: [[[UInt8]]]) throws -> [Int] {
            let (_, outputs) = try copyH265(packets)
            return outputs.indices.filter { outputs[$0].sample != nil }
        }
        let packets = H265Stream.pictures.map { [$0] }
        #expect(try kept(packets) == Array(0..<20))
        var broken = packets
        // BLA_W_LP.
        broken[15][0][0] = 16 << 1
        #expect(try kept(broken) == Array(0..<16) + Array(17..<20))
        var ended = packets
        ended[6].append([36 << 1, 1])
        #expect(try kept(ended) == Array(0..<8) + Array(9..<20))
    }

    @Test func `pictures before the first access point are dropped`() throws {
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
        var copier = try VideoCopier(SampleReader.track(format))
        var packet = SampleReader.packet(samples[0])
        packet.newConfiguration = try AVCDecoderConfiguration(newFormat).bytes()
        #expect(try copier.copy(packet).newFormat == newFormat)
    }

    @Test func `only codecs of recordings are copied`() throws {
        var track = try SampleReader.track(encoded(size, count: 1).format)
        track.codec = "vp9"
        #expect(throws: EncodingError.notCopied(codec: "vp9", needed: "H.264 or H.265")) {
            _ = try VideoCopier(track)
        }
        var sound = SampleReader.track(
            AudioFormat.aac(configuration: [0x11, 0x90], sampleRate: 48_000, channels: 2))
        sound.codec = "opus"
        #expect(throws: EncodingError.notCopied(codec: "opus", needed: "AAC")) {
            _ = try AudioCopier(sound, firstPacket: nil)
        }
    }

    @Test func `ADTS headers are removed and give the AudioSpecificConfig`() throws {
        let configuration = try AudioSpecificConfig(lowComplexityAt: 44_100, channels: 2)
        let payload: [UInt8] = [0x21, 1, 2, 3, 4, 5]
        let header = try ADTSHeader(for: configuration, payloadSizeBytes: payload.count)
        let packet = SampleReader.packet(.audio, header.bytes() + payload, pts: 5)
        var track = SampleReader.track(
            AudioFormat.aac(configuration: [], sampleRate: 44_100, channels: 2))
        track.configuration = []
        var copier = try AudioCopier(track, firstPacket: packet)
        #expect(copier.format.configuration == configuration.bytes())
        #expect(copier.format.sampleRate == 44_100 && copier.format.channels == 2)
        #expect(try copier.copy(packet)?.data == payload)
    }

    @Test func `packets that are skipped completely are priming, only in the first round`() throws {
        let track = SampleReader.track(
            AudioFormat.aac(configuration: [0x11, 0x90], sampleRate: 48_000, channels: 2))
        var copier = try AudioCopier(track, firstPacket: nil)
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
