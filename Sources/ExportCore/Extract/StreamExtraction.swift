import Archive
import Recordings
package import Media

/// A track's samples as an elementary stream: pictures with start codes (ISO/IEC 14496-10 and ITU-T H.265 Annex B), or
/// AAC with ADTS headers (ISO/IEC 14496-3 §1.A.2.2). Samples are not changed.
package struct StreamExtraction {
    private let range: ExportRange
    private let kind: TrackKind
    private let codec: VideoCodec?
    private let target: ExtractTarget
    private let control: WorkControl

    /// - Parameters:
    ///   - kind: `.video` for Annex B, `.audio` for ADTS.
    ///   - codec: the required video codec; nil: any.
    package init(
        _ range: ExportRange, of kind: TrackKind, as codec: VideoCodec? = nil,
        to target: ExtractTarget, control: WorkControl
    ) {
        self.codec = codec
        self.range = range
        self.kind = kind
        self.target = target
        self.control = control
    }

    package func run() throws -> ExportSummary {
        let progress = try RangeProgress(range, control)
        var reader = SampleReader(
            range.source, from: range.startNanoseconds, to: range.endNanoseconds, tracks: [kind])
        var summary = ExportSummary()
        let file = try target.open()
        var first: Int64?
        while let sample = try reader.next() {
            try control.check()
            if let codec, case .video(let format) = sample.format, format.codec != codec {
                throw ExportError.otherCodec(
                    source: range.source.name, codec: format.codec.description,
                    suffix: format.codec.coding.fileSuffixes[0])
            }
            let bytes = try sample.read()
            do {
                switch sample.format {
                case .video(let format): try file.write(AnnexB.accessUnit(bytes.span, format))
                case .audio: try file.write(try sample.format.describing(bytes))
                }
            } catch let error as BitstreamError {
                throw ExportError.damaged(
                    path: sample.file.path, reason: "byte \(sample.offset): \(error)")
            }
            summary.count(kind)
            let time = sample.ptsNanoseconds
            first = min(first ?? time, time)
            summary.durationNanoseconds = time - (first ?? time)
            progress.reached(time)
        }
        guard let first else {
            throw ExportError.noTrack(kind, source: range.source.name)
        }
        summary.startNanoseconds = first
        summary.sizeBytes = file.position
        try target.close(file)
        return summary
    }
}

extension AnnexB {
    /// An access unit with start codes, and with the format's parameter sets if decoding can start there.
    ///
    /// The first NAL unit and parameter sets have a 4-byte start code, the others a 3-byte one (ISO/IEC 14496-10
    /// §B.1.2).
    static func accessUnit(
        _ accessUnit: Span<UInt8>, _ format: VideoFormat
    ) throws(BitstreamError) -> [UInt8] {
        let whole = try format.describing(accessUnit)
        var result: [UInt8] = []
        result.reserveCapacity(whole.count + 16)
        var cursor = NALUnitCursor()
        while let unit = try cursor.next(in: whole.span) {
            let isSet = format.codec.kind(of: unit).isParameterSet
            result += result.isEmpty || isSet ? [0, 0, 0, 1] : [0, 0, 1]
            result += whole[unit.range]
        }
        return result
    }
}

/// Reports progress within a range.
struct RangeProgress {
    private let start: Int64
    private let end: Int64
    private let control: WorkControl

    init(_ range: ExportRange, _ control: WorkControl) throws {
        guard let extent = try range.source.extent() else {
            throw ExportError.nothingThere(range.source.name)
        }
        start = max(range.startNanoseconds ?? .min, extent.startNanoseconds)
        end = min(range.endNanoseconds ?? .max, extent.endNanoseconds)
        self.control = control
    }

    func reached(_ time: Int64) {
        let (done, overflow) = time.subtractingReportingOverflow(start)
        let (total, tooLong) = end.subtractingReportingOverflow(start)
        if !overflow, !tooLong { control.progress(done, of: total) }
    }
}
