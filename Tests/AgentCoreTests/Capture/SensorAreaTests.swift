import Devices
import Testing
import Wire

@testable import AgentCore

/// A camera's sensor, as controls.
@Suite struct SensorAreaTests {
    private let sensor = SensorArea(
        CameraArea(left: 100, top: 50, width: 640, height: 360),
        of: CameraArea(left: 0, top: 0, width: 1920, height: 1080))

    private func area(_ settings: (String, Int64)...) throws(CaptureError) -> CameraArea {
        try sensor.with(settings.map { .init(name: $0.0, value: $0.1) })
    }

    @Test func `it has four controls with their ranges`() {
        let controls = sensor.controls
        #expect(
            controls.map(\.name)
                == ["sensor_left", "sensor_top", "sensor_width", "sensor_height"])
        #expect(controls.map(\.value) == [100, 50, 640, 360])
        #expect(controls.map(\.range) == [0...1919, 0...1079, 1...1920, 1...1080])
        #expect(controls.map(\.defaultValue) == [0, 0, 1920, 1080])
        #expect(controls.allSatisfy { SensorArea.has($0.name) } && !SensorArea.has("zoom"))
    }

    @Test func `values that are set together are validated together`() throws {
        #expect(try area() == CameraArea(left: 100, top: 50, width: 640, height: 360))
        #expect(
            try area(("sensor_left", 1280), ("sensor_top", 720))
                == CameraArea(left: 1280, top: 720, width: 640, height: 360))
        // Too far for the old width, and right for the new one.
        #expect(
            try area(("sensor_left", 1900), ("sensor_width", 20))
                == CameraArea(left: 1900, top: 50, width: 20, height: 360))
    }

    @Test(
        arguments: [
            ("sensor_left", 1281), ("sensor_left", -1), ("sensor_width", 0), ("sensor_width", .max),
            ("sensor_height", 1031), ("sensor_top", .min),
        ] as [(String, Int64)])
    func `a value outside the sensor's area is refused`(name: String, value: Int64) {
        let error = #expect(throws: CaptureError.self) { _ = try area((name, value)) }
        #expect(error?.description.contains("is not within the camera's sensor area") == true)
    }
}
