import Devices
import Encoding
import Media

/// Records a camera's H.264 without transcoding.
///
/// Parameter sets are in the stream, so the camera runs before the recording starts; the recording starts with the next keyframe.
final class CopiedCameraPictures: CameraStage {
    let text: String
    private var copier: VideoCopier
    /// Parameter sets in a separate buffer, for the next picture.
    private var headers: [UInt8] = []
    /// Start of pictures that cannot be decoded, because a keyframe is missing.
    private var undecodable: (count: Int, startNanoseconds: Int64)?
    private var needsKeyframe = true
    private var isKeyframeWanted = false
    private var orientation: PictureOrientation
    /// The orientation changes with the next keyframe.
    private var isTurned = false

    /// Time limit for the first keyframe.
    private static let patienceNanoseconds: Int64 = 10_000_000_000
    private static let readMilliseconds = 100

    /// Starts the camera, and waits for its first parameter sets.
    init(
        _ input: any CameraInput, orientation: PictureOrientation, clock: any CaptureClock
    ) throws(CaptureError) {
        self.orientation = orientation
        let end = clock.nowNanoseconds + Self.patienceNanoseconds
        do throws(DeviceError) {
            try input.start()
            input.requestKeyframe()
            var unit: CameraAccessUnit?
            while unit?.hasParameterSets != true {
                guard clock.nowNanoseconds < end else {
                    throw .cameraRefused(
                        input.summary,
                        reason: "its H.264 has no keyframe within 10 s; use --encoder libx264")
                }
                let event = try input.read(timeoutMilliseconds: Self.readMilliseconds)
                guard case .picture(let picture) = event, !picture.isDamaged else { continue }
                let bytes = UnsafeRawBufferPointer(picture.bytes)
                do throws(BitstreamError) {
                    let next = try CameraAccessUnit(bytes)
                    unit = (unit ?? CameraAccessUnit()).joined(by: next)
                } catch {
                    continue  // the next one may be whole
                }
            }
            let choice = input.choice
            let track = CodedTrack(
                codec: "h264", codecTag: 0, configuration: unit?.parameterSets ?? [],
                content: .picture(
                    CodedTrack.Picture(
                        width: choice.size.width, height: choice.size.height, format: nil,
                        colour: nil, rate: choice.recordedRate, hasConstantRate: false,
                        sampleAspectRatio: nil)))
            do throws(EncodingError) {
                copier = try VideoCopier(track)
            } catch {
                throw .cameraRefused(input.summary, reason: error.description)
            }
            text = CaptureDescription.copiedVideo(track, copier.format)
        } catch {
            throw .source(error.description)
        }
    }

    var format: TrackFormat { oriented(copier.format) }

    private func oriented(_ format: VideoFormat) -> TrackFormat {
        var format = format
        format.orientation = orientation
        return .video(format)
    }

    func takeKeyframeRequest() -> Bool {
        defer { isKeyframeWanted = false }
        return isKeyframeWanted
    }

    /// Applies the requests that need no encoder.
    private func follow(_ requests: PictureRequests.Pending) {
        for wanted in requests.rates where wanted.answer.begin() {
            wanted.answer.give(.fixedRate("the camera"))
        }
        isKeyframeWanted = isKeyframeWanted || requests.isKeyframeWanted
        if let wanted = requests.orientation, wanted != orientation {
            orientation = wanted
            isTurned = true
            isKeyframeWanted = true
        }
    }

    func restart(_ layout: CameraPictureLayout) throws(EncodingError) {
        guard layout.coding == .h264 else {
            throw .notCopied(codec: "another", needed: "H.264")
        }
        needsKeyframe = true
        headers = []
    }

    func take(
        _ picture: CameraPicture, _ place: PictureTime, _ output: CaptureOutput
    ) throws(EncodingError) {
        if let requests = output.requests.take() { follow(requests) }
        let time = place.captureNanoseconds
        let unit: CameraAccessUnit
        do throws(BitstreamError) {
            unit = try CameraAccessUnit(UnsafeRawBufferPointer(picture.bytes))
        } catch {
            return output.lost(.incomplete(at: place, picture.bytes.count))
        }
        guard unit.hasPicture else {
            headers = unit.parameterSets
            return
        }
        if needsKeyframe, !unit.isKeyframe {
            undecodable = (
                (undecodable?.count ?? 0) + 1, undecodable?.startNanoseconds ?? time
            )
            return
        }
        needsKeyframe = false
        tellUndecodable(untilNanoseconds: time, output)
        let bytes = WholeAccessUnit(headers, picture)
        headers = []
        let packet = CodedPacket(
            track: .video, ptsNanoseconds: time, dtsNanoseconds: time,
            durationNanoseconds: place.durationNanoseconds, isKeyframe: unit.isKeyframe,
            isDiscarded: false, skippedAtStart: 0, skippedAtEnd: 0, newConfiguration: nil,
            bytes: bytes.bytes, owner: bytes)
        let result: VideoCopier.Output
        do throws(EncodingError) {
            result = try copier.copy(packet)
        } catch .damagedSample {
            return output.lost(.incomplete(at: place, picture.bytes.count))
        }
        guard let sample = result.sample else {
            undecodable = (
                (undecodable?.count ?? 0) + 1, undecodable?.startNanoseconds ?? time
            )
            return
        }
        if let format = result.newFormat {
            output.formatChanged(oriented(format))
        } else if isTurned, unit.isKeyframe {
            output.formatChanged(format)
        }
        if unit.isKeyframe { isTurned = false }
        output.sample(sample)
    }

    func finish(_ output: CaptureOutput) throws(EncodingError) {
        tellUndecodable(untilNanoseconds: output.nowNanoseconds, output)
    }

    private func tellUndecodable(untilNanoseconds end: Int64, _ output: CaptureOutput) {
        guard let (count, start) = undecodable else { return }
        undecodable = nil
        output.lost(
            CaptureLoss(
                track: .video, cause: .deviceLost, startNanoseconds: start,
                durationNanoseconds: max(0, end - start), samples: count,
                text: "\(count) pictures before the camera's first keyframe were dropped"))
    }
}

/// A picture's bytes with the parameter sets that came before it; without any, the camera's own buffer.
// @unchecked: written before anyone else sees it, only read from then on.
private final class WholeAccessUnit: @unchecked Sendable {
    let bytes: UnsafeRawBufferPointer
    private let copy: UnsafeMutableRawBufferPointer?
    private let owner: any AnyObject & Sendable

    init(_ headers: [UInt8], _ picture: CameraPicture) {
        owner = picture.owner
        guard !headers.isEmpty else {
            copy = nil
            bytes = UnsafeRawBufferPointer(picture.bytes)
            return
        }
        let memory = UnsafeMutableRawBufferPointer.allocate(
            byteCount: headers.count + picture.bytes.count, alignment: 16)
        memory.copyBytes(from: headers)
        UnsafeMutableRawBufferPointer(rebasing: memory[headers.count...])
            .copyMemory(from: UnsafeRawBufferPointer(picture.bytes))
        copy = memory
        bytes = UnsafeRawBufferPointer(memory)
    }

    deinit { copy?.deallocate() }
}
