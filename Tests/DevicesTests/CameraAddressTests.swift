import Glibc
import Media
import Testing

@testable import Devices

/// The camera that a name selects, and a saved camera found again.
@Suite struct CameraAddressTests {
    private func identity(
        place: String = "/sys/devices/pci/usb1/1-1/1-1:1.0", bus: String = "usb-0000:00:14.0-1",
        index: Int = 0, card: String = "HD Webcam", serial: String? = nil
    ) -> CameraIdentity {
        CameraIdentity(
            place: place, bus: bus, index: index, card: card, model: "046d:0825", serial: serial)
    }

    private func camera(
        _ node: String, _ identity: CameraIdentity, byID: [String] = [], obstacle: String? = nil
    ) -> CameraInfo {
        CameraInfo(
            node: node, identity: identity, driver: "uvcvideo", byID: byID, obstacle: obstacle)
    }

    private let socketTwo = "/sys/devices/pci/usb1/1-2/1-2:1.0"

    @Test func `a camera is found in its socket under any device number`() {
        let one = camera("/dev/video0", identity())
        let two = camera(
            "/dev/video2", identity(place: socketTwo, bus: "usb-0000:00:14.0-2"))
        let address = CameraAddress(name: "/dev/video2").found(two)
        #expect(address.place(among: [one, two]) == 1)
        // Plugged in in the other order.
        var renumbered = two
        renumbered.node = "/dev/video0"
        var other = one
        other.node = "/dev/video2"
        #expect(address.place(among: [renumbered, other]) == 0)
        #expect(address.place(among: [other]) == nil)
    }

    @Test func `another model in the same socket is a different camera`() {
        let address = CameraAddress(name: "first").found(camera("/dev/video0", identity()))
        #expect(address.place(among: [camera("/dev/video0", identity(card: "Other"))]) == nil)
    }

    @Test func `a camera with a unique serial number is found in another socket`() {
        let own = identity(serial: "A1B2")
        let address = CameraAddress(name: "first").found(camera("/dev/video0", own))
        let moved = identity(place: socketTwo, bus: "usb-0000:00:14.0-2", serial: "A1B2")
        #expect(address.place(among: [camera("/dev/video0", moved)]) == 0)
        // A serial number shared by several cameras is ignored.
        let third = identity(place: "/sys/devices/3", bus: "usb-3", serial: "A1B2")
        #expect(
            address.place(among: [camera("/dev/video0", moved), camera("/dev/video1", third)])
                == nil)
    }

    @Test func `another camera of the same model in its socket is not found`() {
        let address = CameraAddress(name: "first").found(
            camera("/dev/video0", identity(serial: "A1B2")))
        #expect(address.place(among: [camera("/dev/video0", identity(serial: "C3D4"))]) == nil)
    }

    @Test(arguments: [
        "/dev/video4", "usb-046d_HD_Webcam-video-index0", "usb-0000:00:14.0-2", "1-2",
    ]) func `a camera has several names`(name: String) {
        let one = camera("/dev/video0", identity())
        let two = camera(
            "/dev/video4", identity(place: socketTwo, bus: "usb-0000:00:14.0-2"),
            byID: ["usb-046d_HD_Webcam-video-index0"])
        #expect(CameraAddress(name: name).place(among: [one, two]) == 1)
    }

    @Test func `'first' is the first usable camera`() {
        let broken = camera("/dev/video0", identity(), obstacle: "no permission")
        let whole = camera("/dev/video1", identity(bus: "usb-2"))
        #expect(CameraAddress(name: "first").place(among: [broken, whole]) == 1)
        #expect(CameraAddress(name: "first").place(among: [broken]) == 0)
        #expect(CameraAddress(name: "first").place(among: []) == nil)
    }

    @Test func `the name that stays is by serial number, else by socket`() {
        #expect(camera("/dev/video0", identity()).stableName == "usb-0000:00:14.0-1")
        #expect(camera("/dev/video0", identity(), byID: ["usb-x"]).stableName == "usb-x")
    }

    @Test func `without any camera the error has advice`() {
        let error = DeviceError.noCamera("first", available: [])
        #expect(error.description.contains("this machine has no camera: plug one in"))
    }
}

@Suite struct CameraFormatTests {
    @Test func `a code is its four characters`() {
        #expect(CameraPixelCode("YUYV") == .yuyv)
        #expect(CameraPixelCode(argument: "mjpeg") == .mjpeg)
        #expect(CameraPixelCode(argument: "nv12") == .nv12)
        #expect(CameraPixelCode(argument: "Y16")?.description == "Y16")
        #expect(CameraPixelCode(argument: "yuyv2") == nil)
        #expect(CameraPixelCode(argument: "") == nil)
        #expect(CameraPixelCode.h264.description == "H264")
    }

    @Test(arguments: [
        ("YUYV", 1280 * 360, [1280]), ("YU12", 640 * 360 * 3 / 2, [640, 320, 320]),
        ("NV12", 640 * 360 * 3 / 2, [640, 640]), ("422P", 640 * 360 * 2, [640, 320, 320]),
        ("NV24", 640 * 360 * 3, [640, 1280]),
    ]) func `planes follow each other within the buffer`(
        code: String, size: Int, rows: [Int]
    ) throws {
        let layout = try #require(CameraPixelCode(code).flatMap { RawLayout($0) })
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 16)
        defer { memory.deallocate() }
        let planes = try #require(
            layout.planes(in: memory, bytesPerRow: rows[0], height: 360))
        #expect(planes.map(\.bytesPerRow) == rows)
        let short = UnsafeMutableRawBufferPointer(rebasing: memory.dropLast())
        #expect(layout.planes(in: short, bytesPerRow: rows[0], height: 360) == nil)
    }

    @Test func `in YV12 the chroma planes are exchanged`() throws {
        let layout = try #require(CameraPixelCode("YV12").flatMap { RawLayout($0) })
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 96, alignment: 16)
        defer { memory.deallocate() }
        let planes = try #require(layout.planes(in: memory, bytesPerRow: 8, height: 8))
        #expect(planes[1].baseAddress - planes[2].baseAddress == 16)
    }

    @Test func `controls have v4l2-ctl's names`() {
        #expect(CameraControl.name(from: "Exposure Time, Absolute") == "exposure_time_absolute")
        #expect(CameraControl.name(from: "Pan (Absolute)") == "pan_absolute")
    }

    @Test func `a device that this process holds is recognised as its own`() {
        let own = Holders.name(ofProcess: "self")
        #expect(own.hasSuffix("(process \(getpid()))"))
        #expect(DeviceError.soundDeviceBusy("hw:0", holder: own).isHeldHere)
        #expect(!DeviceError.soundDeviceBusy("hw:0", holder: "arecord (process 1)").isHeldHere)
        #expect(!DeviceError.cameraBusy("first", holder: nil).isHeldHere)
    }
}
