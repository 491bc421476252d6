import Devices
import Foundation
import Media
import Testing

@testable import AgentCore
@testable import RTSP

/// Captures of network cameras on this machine.
@Suite struct NetworkPipelineTests {
    private static let h264 = "m=video 0 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\n"

    private func pipeline(
        _ camera: LoopbackCamera, kinds: [TrackKind] = [.video], scheme: String = "rtsp"
    ) throws -> NetworkPipeline {
        var settings = CaptureSettings(sourceName: "camera")
        settings.duration = .seconds(1)
        return try NetworkPipeline(
            NetworkCameraRequest(
                url: try camera.url(scheme), login: nil, transport: .tcp, kinds: kinds,
                agent: "test"), isSoundNeeded: false, settings: settings, isStopping: { false })
    }

    /// Packets with one NAL unit each; pictures are 100 ms apart.
    private func packets(_ streams: [[UInt8]]) throws -> [RTPPacket] {
        var packets: [RTPPacket] = []
        for (index, stream) in streams.enumerated() {
            let units = try AnnexB.nalUnits(in: stream.span)
            for (place, unit) in units.enumerated() {
                packets.append(
                    RTPPacket(
                        payloadType: 96, marker: place == units.count - 1,
                        sequence: UInt16(packets.count), timestamp: UInt32(index * 9_000),
                        source: 1, payload: Array(stream[unit.range])))
            }
        }
        return packets
    }

    @Test func `the last picture before the end is recorded although no other follows`() throws {
        let (format, streams) = try ScriptedCamera.accessUnits(4)
        let sets = format.parameterSets.map { Data($0).base64EncodedString() }
        let camera = LoopbackCamera(
            "\(Self.h264)a=fmtp:96 sprop-parameter-sets=\(sets.joined(separator: ","))\r\n",
            packets: try packets(streams))
        let sink = CollectingSink()
        capture(try pipeline(camera), into: sink, clock: MonotonicClock())
        let result = sink.wait()
        #expect(result.video.count == 4)
        #expect(result.losses.isEmpty)
    }

    // MARK: Errors

    /// The reason why a capture does not begin.
    private func reason(_ body: () throws -> NetworkPipeline) -> String {
        do {
            _ = try body()
            return "none"
        } catch {
            return "\(error)"
        }
    }

    @Test func `a port without TLS is named as the reason of a handshake without answer`() {
        let camera = LoopbackCamera { _, _ in nil }
        let reason = reason { try pipeline(camera, scheme: "rtsps") }
        #expect(reason.contains("it does not answer the TLS handshake: is it rtsp://?"))
    }

    @Test(arguments: [[TrackKind.video], [.video, .audio]])
    func `a camera that has only sound is refused with the options that record it`(
        kinds: [TrackKind]
    ) throws {
        let camera = LoopbackCamera("m=audio 0 RTP/AVP 0\r\n")
        let reason = reason { try pipeline(camera, kinds: kinds) }
        let url = try camera.url().summary
        #expect(reason.contains("it has no video that can be recorded"))
        #expect(reason.hasSuffix("to record its audio alone, use --video none --audio \(url)"))
    }

    @Test func `a second video track that could be recorded is named as left out`() throws {
        let (format, _) = try ScriptedCamera.accessUnits(1)
        let sets = format.parameterSets.map { Data($0).base64EncodedString() }
        let media =
            "\(Self.h264)a=fmtp:96 sprop-parameter-sets=\(sets.joined(separator: ","))\r\n"
        let one = try pipeline(LoopbackCamera(media))
        #expect(one.notes.isEmpty)
        let two = try pipeline(LoopbackCamera(media + media))
        #expect(two.notes.count == 1)
        #expect(
            two.notes.first?.hasSuffix(
                "it has 2 video tracks that can be recorded: only the first one is")
                == true)
    }
}
