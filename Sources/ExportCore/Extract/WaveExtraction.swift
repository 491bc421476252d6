import Archive
import Encoding
import Recordings
import Media

/// A recording's audio as WAV: 16-bit samples, accurate to one frame at start and end. Gaps become silence of the same
/// duration, unless they are closed.
package struct WaveExtraction {
    /// Smaller deviations are clock corrections of the recorder, not gaps (as in the encoder).
    private static let toleranceNanoseconds: Int64 = 10_000_000
    /// Maximum frames of silence per write.
    private static let silenceFrames = 48_000

    private let range: ExportRange
    private let target: ExtractTarget
    private let closesGaps: Bool
    private let control: WorkControl

    package init(
        _ range: ExportRange, to target: ExtractTarget, closesGaps: Bool, control: WorkControl
    ) {
        var range = range
        range.tracks = [.audio]
        self.range = range
        self.target = target
        self.closesGaps = closesGaps
        self.control = control
    }

    package func run() throws -> ExportSummary {
        let progress = try RangeProgress(range, control)
        var samples = try SelectedSamples(range)
        var sound = RecordedAudio()
        var summary = ExportSummary()
        var output: WaveOutput?
        func take(_ run: RawAudio) throws {
            if output == nil {
                output = WaveOutput(
                    file: try target.open(), layout: run.layout,
                    startNanoseconds: range.startNanoseconds ?? run.captureNanoseconds,
                    endNanoseconds: range.endNanoseconds)
                try output?.begin()
                summary.startNanoseconds = range.startNanoseconds ?? run.captureNanoseconds
            }
            try output?.add(
                run, toleranceNanoseconds: Self.toleranceNanoseconds, closesGaps: closesGaps,
                silenceFrames: Self.silenceFrames)
            progress.reached(run.captureNanoseconds)
        }
        while let sample = try samples.next() {
            try control.check()
            try sound.decode(sample, emit: take)
            summary.count(.audio)
        }
        try sound.finish(emit: take)
        guard let output else { throw ExportError.noTrack(.audio, source: range.source.name) }
        try output.end(isSeekable: target.isSeekable)
        summary.durationNanoseconds = output.durationNanoseconds
        summary.sizeBytes = output.file.position
        if sound.damaged > 0 {
            summary.notes.append("\(sound.damaged) damaged audio packets left out")
        }
        try target.close(output.file)
        return summary
    }
}

/// A WAV file (RIFF; RF64 of EBU Tech 3306 above 4 GiB) being written.
private struct WaveOutput {
    let file: ByteFile
    let layout: AudioLayout
    private let startNanoseconds: Int64
    private let endNanoseconds: Int64?
    private var frames: Int64 = 0
    /// Frames removed by closing gaps.
    private var closedFrames: Int64 = 0

    init(file: ByteFile, layout: AudioLayout, startNanoseconds: Int64, endNanoseconds: Int64?) {
        self.file = file
        self.layout = layout
        self.startNanoseconds = startNanoseconds
        self.endNanoseconds = endNanoseconds
    }

    private static let headerBytes = 80
    private var frameBytes: Int { 2 * layout.channels }
    var durationNanoseconds: Int64 {
        Timescale(UInt32(layout.sampleRate)).nanoseconds(frames)
    }

    /// The header of a file of unknown length.
    func begin() throws { try file.write(header(dataBytes: nil)) }

    /// Writes the final length into the header, if the output is seekable.
    func end(isSeekable: Bool) throws {
        if isSeekable {
            try file.overwrite(header(dataBytes: frames * Int64(frameBytes)), at: 0)
        }
    }

    private func header(dataBytes: Int64?) -> [UInt8] {
        var bytes: [UInt8] = []
        func text(_ value: String) { bytes += Array(value.utf8) }
        func number<Value: FixedWidthInteger>(_ value: Value) {
            withUnsafeBytes(of: value.littleEndian) { bytes += $0 }
        }
        let riffBytes = dataBytes.map { $0 + Int64(Self.headerBytes) - 8 }
        let isLarge = riffBytes.map { $0 > Int64(UInt32.max) } ?? false
        func small(_ value: Int64?) -> UInt32 {
            isLarge ? .max : value.map { UInt32(clamping: $0) } ?? .max
        }
        text(isLarge ? "RF64" : "RIFF")
        number(small(riffBytes))
        text("WAVE")
        text(isLarge ? "ds64" : "JUNK")
        number(UInt32(28))
        number(UInt64(isLarge ? riffBytes ?? 0 : 0))
        number(UInt64(isLarge ? dataBytes ?? 0 : 0))
        number(UInt64(isLarge ? frames : 0))
        number(UInt32(0))
        text("fmt ")
        number(UInt32(16))
        number(UInt16(1))
        number(UInt16(layout.channels))
        number(UInt32(layout.sampleRate))
        number(UInt32(layout.sampleRate * frameBytes))
        number(UInt16(frameBytes))
        number(UInt16(16))
        text("data")
        number(small(dataBytes))
        return bytes
    }

    /// The frame of a time in the file.
    private func place(_ nanoseconds: Int64) throws -> Int64 {
        try rescale(
            nanoseconds - startNanoseconds, from: .nanoseconds,
            to: Timescale(UInt32(layout.sampleRate)))
    }

    mutating func add(
        _ run: RawAudio, toleranceNanoseconds: Int64, closesGaps: Bool, silenceFrames: Int
    ) throws {
        guard run.layout.sampleRate == layout.sampleRate, run.layout.channels == layout.channels
        else {
            throw ExportError.refused(
                path: file.path,
                reason:
                    "the audio sample rate or channel count changes in this range: extract the parts with --start and "
                    + "--duration")
        }
        var run = run
        let position = try place(run.captureNanoseconds) - closedFrames
        let tolerance = try frames == 0 ? 0 : place(startNanoseconds + toleranceNanoseconds)
        if position < frames - tolerance {
            run = run.dropFirst(Int(clamping: frames - position))
        } else if position > frames + tolerance {
            if closesGaps {
                closedFrames += position - frames
            } else {
                try silence(position - frames, atOnce: silenceFrames)
            }
        }
        if let endNanoseconds {
            let room = try place(endNanoseconds) - closedFrames - frames
            run = run.prefix(Int(clamping: max(0, room)))
        }
        guard run.frameCount > 0 else { return }
        try file.write(Self.interleaved(run))
        frames += Int64(run.frameCount)
    }

    private mutating func silence(_ count: Int64, atOnce: Int) throws {
        var left = count
        while left > 0 {
            let some = min(left, Int64(atOnce))
            try file.write([UInt8](repeating: 0, count: Int(some) * frameBytes))
            left -= some
        }
        frames += count
    }

    /// Frames × channels of 16 bits, little-endian.
    private static func interleaved(_ run: RawAudio) -> [UInt8] {
        let layout = run.layout
        let channels = layout.channels
        return withExtendedLifetime(run.owner) {
            [UInt8](unsafeUninitializedCapacity: 2 * channels * run.frameCount) {
                bytes, count in
                for channel in 0..<channels {
                    let plane = run.planes[layout.isPlanar ? channel : 0]
                    let first = layout.isPlanar ? 0 : channel * layout.sampleType.sizeBytes
                    for frame in 0..<run.frameCount {
                        let place = plane + first + frame * layout.frameStrideBytes
                        let value = sample(place, layout.sampleType).littleEndian
                        let index = 2 * (frame * channels + channel)
                        bytes[index] = UInt8(truncatingIfNeeded: value)
                        bytes[index + 1] = UInt8(truncatingIfNeeded: value >> 8)
                    }
                }
                count = 2 * channels * run.frameCount
            }
        }
    }

    private static func sample(_ place: UnsafeRawPointer, _ type: AudioSampleType) -> Int16 {
        switch type {
        case .float: rounded(Double(place.loadUnaligned(as: Float.self)))
        case .double: rounded(place.loadUnaligned(as: Double.self))
        case .signed16: place.loadUnaligned(as: Int16.self)
        case .signed32: Int16(truncatingIfNeeded: place.loadUnaligned(as: Int32.self) >> 16)
        case .unsigned8: (Int16(place.loadUnaligned(as: UInt8.self)) - 128) << 8
        }
    }

    private static func rounded(_ value: Double) -> Int16 {
        Int16(max(-32_768, min(32_767, (value * 32_768).rounded(.toNearestOrEven))))
    }
}
