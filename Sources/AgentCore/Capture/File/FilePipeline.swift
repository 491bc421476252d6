import Devices
import Encoding
import Media

/// Plays one file at its own pace, as a camera would, and copies or encodes its tracks.
///
/// A file can wait: with a slow encoder, its pictures are late, with their own times, and none is
/// dropped.
// @unchecked: see CapturePipeline.
final class FilePipeline: CapturePipeline, @unchecked Sendable {
    let name: String
    let formats: [TrackFormat]
    var descriptions: [String] { texts.map { "\($0.text) from \(path)" } }
    let details: [String]
    let encoder: String?

    private var source: FileSource
    /// The stages, in the order of the file's tracks.
    private let texts: [any PacketStage]
    private let path: String
    private var stages: [TrackKind: any PacketStage] = [:]

    /// Opens the file for the tracks in the settings.
    init(path: String, kinds: [TrackKind], settings: CaptureSettings) throws(CaptureError) {
        var source = try Self.open(
            path, kinds, loops: settings.loop,
            for: settings.encoder == .copy ? .copying : .decoding)
        var stages: [any PacketStage] = []
        for track in source.tracks {
            let stage = try Self.stage(for: track, of: &source, settings)
            self.stages[track.kind] = stage
            stages.append(stage)
        }
        name = kinds == [.audio] ? "capture audio" : "capture video"
        formats = stages.map(\.format)
        texts = stages
        self.path = path
        details = stages.compactMap(\.note) + source.notes.map { "\(path): \($0)" }
        encoder = stages.compactMap(\.encoder).first
        self.source = source
    }

    func run(startNanoseconds: Int64, output: CaptureOutput) -> CaptureEnd {
        source.originNanoseconds = startNanoseconds
        for stage in stages.values { stage.begin(startNanoseconds: startNanoseconds) }
        var end: CaptureEnd
        do throws(CaptureError) {
            end = try play(output)
        } catch {
            end = .failed(error.description)
        }
        // Samples from before a failure are delivered.
        for kind in [TrackKind.video, .audio] {
            do throws(EncodingError) {
                try stages[kind]?.finish(output)
            } catch {
                if case .finished = end { end = .failed("\(source.path): \(error.description)") }
            }
        }
        return end
    }

    private func play(_ output: CaptureOutput) throws(CaptureError) -> CaptureEnd {
        var joints = 0
        while let packet = try nextPacket() {
            for joint in source.joints.dropFirst(joints) {
                output.noted("\(source.path): \(FileSource.note(joint))")
            }
            joints = source.joints.count
            for damage in source.takeDamage() { lose(damage, output) }
            guard output.wait(untilNanoseconds: packet.dtsNanoseconds) else { return .stopped }
            guard let stage = stages[packet.track], !stage.isDone else { continue }
            do throws(EncodingError) {
                try stage.take(packet, output)
            } catch {
                let place = error.earlier(byNanoseconds: source.originNanoseconds)
                throw .source("\(source.path): \(place.description)")
            }
            if stages.values.allSatisfy(\.isDone) { return .durationReached }
        }
        for damage in source.takeDamage() { lose(damage, output) }
        return .endOfFile
    }

    private func lose(_ damage: FileDamage, _ output: CaptureOutput) {
        guard stages[damage.track] != nil else { return }
        output.lost(
            CaptureLoss(
                track: damage.track, cause: .damagedInput,
                startNanoseconds: damage.startNanoseconds,
                durationNanoseconds: damage.endNanoseconds - damage.startNanoseconds,
                samples: damage.samples, text: FileDamage.reason))
    }

    private func nextPacket() throws(CaptureError) -> CodedPacket? {
        do {
            return try source.next()
        } catch {
            throw .source(error.description)
        }
    }

    private static func open(
        _ path: String, _ kinds: [TrackKind], loops: Bool, for purpose: FileSource.Purpose
    ) throws(CaptureError) -> FileSource {
        do {
            return try FileSource(path: path, kinds: kinds, loops: loops, for: purpose)
        } catch {
            throw .source(error.description)
        }
    }

    private static func stage(
        for track: CodedTrack, of source: inout FileSource, _ settings: CaptureSettings
    ) throws(CaptureError) -> any PacketStage {
        let path = source.path
        do {
            let duration = settings.duration?.nanoseconds
            let isCopied = settings.encoder == .copy
            let first =
                try isCopied && !track.isDescribed
                ? source.firstPacket(of: track.kind) : nil
            switch (track.content, isCopied) {
            case (.picture, true):
                return try CopiedPictures(
                    track, firstPacket: first, orientation: settings.orientation,
                    durationNanoseconds: duration)
            case (.picture(let picture), false):
                let plan = try settings.filePicturePlan(picture, path: path)
                var settings = settings
                if settings.orientation == .upright { settings.orientation = picture.orientation }
                return try EncodedPictures(track, plan, settings)
            case (.sound, true):
                return try CopiedAudio(track, firstPacket: first, durationNanoseconds: duration)
            case (.sound(let sound), false):
                let plan = try settings.soundPlan(
                    sourceRate: sound.sampleRate, sourceChannels: sound.channels)
                return try EncodedAudio(track, plan, durationNanoseconds: duration)
            }
        } catch let error as CaptureError {
            throw error
        } catch let error as DeviceError {
            throw .source(error.description)
        } catch {
            throw .source("\(path): \(error)")
        }
    }
}
