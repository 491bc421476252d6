import Devices
import Testing

@testable import AgentCore

@Suite struct LoginPauseTests {
    @Test func `a refused login is repeated five times in half an hour, the limit of cameras`() {
        let pauses = (1...100).map { LoginPause.nanoseconds(refusals: $0) / 1_000_000_000 }
        #expect(pauses.prefix(5) == [30, 120, 480, 900, 900] && pauses.max() == 900)
    }

    @Test func `a refused login is a separate error with the same text`() {
        let refused = DeviceError.cameraLoginRefused("rtsp://a/1", reason: "wrong")
        #expect(
            CaptureError(refused) == .login("the camera rtsp://a/1 cannot be used: wrong"))
        #expect(
            CaptureError(.cameraRefused("rtsp://a/1", reason: "wrong"))
                == .source("the camera rtsp://a/1 cannot be used: wrong"))
    }
}
