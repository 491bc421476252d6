import Testing
import Wire

@testable import CollectorCore

/// Commands refused to programs of the archive's group, even through the viewer.
@Suite struct GroupCommandsTests {
    private func command(_ change: (inout CaptureChange) -> Void) -> ControlRequest.Request {
        var wish = CaptureChange()
        change(&wish)
        return .command(.change(wish), source: "stage")
    }

    @Test func `a change of a box's devices, files or addresses is refused`() {
        for request in [
            command { $0.video = "file:/etc/passwd" }, command { $0.audio = "hw:0" },
            command {
                $0.video = "rtsp://elsewhere"
                $0.videoBitrate = 1
            },
        ] {
            guard case .failure(.refused, _) = GroupCommands.refusal(of: request) else {
                Issue.record("\(request) is carried out")
                continue
            }
        }
        #expect(GroupCommands.refusal(of: command { $0.videoBitrate = 1 }) == nil)
    }

    @Test func `other requests are executed or refused as unknown`() {
        let carriedOut: [ControlRequest.Request] = [
            .stopSession(nil), .changeSession(SessionChange(of: "a")),
            .command(.status, source: "stage"), .command(.snapshot, source: "stage"),
        ]
        for request in carriedOut { #expect(GroupCommands.refusal(of: request) == nil) }
        let unknown: [ControlRequest.Request] = [.status, .sessionChanged("a"), .unknown]
        for request in unknown { #expect(GroupCommands.refusal(of: request) != nil) }
    }
}
