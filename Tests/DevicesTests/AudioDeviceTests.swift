import Foundation
import Testing

@testable import Devices

@Suite struct AudioDeviceTests {
    @Test func `three bytes become the upper ones of four, in place`() {
        let memory = UnsafeMutableRawPointer.allocate(byteCount: 16, alignment: 16)
        defer { memory.deallocate() }
        let packed: [UInt8] = [
            0x01, 0x02, 0x03, 0xff, 0xff, 0xff, 0x00, 0x00, 0x80, 0x56, 0x34, 0x12,
        ]
        memory.copyMemory(from: packed, byteCount: packed.count)
        SampleFormat.widen(memory, count: 4)
        let samples = (0..<4).map { memory.load(fromByteOffset: 4 * $0, as: Int32.self) }
        #expect(samples == [0x0302_0100, -256, .min, 0x1234_5600])
    }

    @Test(arguments: ["hw:99", "hw:CARD=Nobody,DEV=0", "no such name"])
    func `an absent device is refused with the present ones`(_ name: String) {
        let error = #expect(throws: DeviceError.self) {
            _ = try AudioDevice(
                AudioAddress(name: name), request: AudioRequest(sampleRate: 48_000, channels: 2))
        }
        guard case .noAudioDevice(name, let available)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(available == AudioCards.list().map(\.id))
    }

    @Test func `errors of devices are one line with a remedy`() {
        let errors: [(DeviceError, String)] = [
            (.noAudioDevice("hw:7", available: []), "plug one in"),
            (.noAudioDevice("hw:7", available: ["hw:CARD=A,DEV=0", "hw:CARD=B,DEV=0"]), "CARD=B"),
            (.soundDeviceBusy("hw:7", holder: "arecord (process 812)"), "arecord (process 812)"),
            (.soundDeviceBusy("hw:7", holder: nil), "another program"),
            (.soundDeviceDenied("hw:7"), "group audio"),
            (DeviceError(opening: "hw:7", .noFormat), "S16"),
            (DeviceError(opening: "hw:7", .call(-EBUSY)), "busy"),
            (DeviceError(opening: "hw:7", .call(-EACCES)), "usermod"),
            (DeviceError(opening: "hw:7", .call(-EINVAL)), "Invalid argument"),
        ]
        for (error, words) in errors {
            #expect(error.description.contains(words))
            #expect(error.description.contains("hw:7"))
            #expect(!error.description.contains("\n"))
        }
    }
}
