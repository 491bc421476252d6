import Devices
import Media
import Testing

/// The format chosen from a camera's capabilities.
@Suite struct CameraNegotiationTests {
    private static let needs = CameraRequest.H264Needs(
        bitrate: 4_000_000, keyframeIntervalNanoseconds: 2_000_000_000)

    private static func size(_ width: Int, _ height: Int, _ rates: Int32...) -> CameraSize {
        CameraSize(
            PictureSize(width: width, height: height),
            rates: rates.isEmpty ? .unknown : .some(rates.map { FrameRate($0) }))
    }

    private static func format(_ code: CameraPixelCode, _ sizes: CameraSize...) -> CameraFormat {
        CameraFormat(code: code, name: "\(code)", sizes: sizes)
    }

    /// Like most USB cameras: raw pictures are slow for lack of bandwidth.
    private static let webcam = CameraAbilities(formats: [
        format(.mjpeg, size(640, 480, 30, 15), size(1280, 720, 30, 15), size(1920, 1080, 30)),
        format(.yuyv, size(640, 480, 30, 15), size(1280, 720, 10, 5), size(1920, 1080, 5)),
    ])

    private func choose(
        _ abilities: CameraAbilities, _ size: CameraRequest.Size, rate: Int32 = 30,
        own: CameraRequest.OwnH264 = .ifItMeets(needs), code: CameraPixelCode? = nil
    ) throws -> CameraChoice {
        try CameraNegotiation(
            abilities, CameraRequest(size: size, rate: FrameRate(rate), ownH264: own, code: code)
        ).choice()
    }

    private func exactly(_ width: Int, _ height: Int) -> CameraRequest.Size {
        .exactly(PictureSize(width: width, height: height))
    }

    private let levels = CameraRequest.Size.levels([
        CameraRequest.Level(name: "high", size: PictureSize(width: 1280, height: 720)),
        CameraRequest.Level(name: "medium", size: PictureSize(width: 960, height: 540)),
        CameraRequest.Level(name: "low", size: PictureSize(width: 640, height: 480)),
    ])

    @Test func `raw pictures are used if they are fast enough`() throws {
        let choice = try choose(Self.webcam, exactly(640, 480))
        #expect(choice.code == .yuyv && choice.rate == FrameRate(30))
    }

    @Test func `JPEG is used if raw pictures are slower`() throws {
        let choice = try choose(Self.webcam, exactly(1280, 720))
        #expect(choice.code == .mjpeg && choice.rate == FrameRate(30))
        #expect(choice.reason.contains("raw video of this size is slower"))
    }

    @Test func `slow raw pictures are used if the requested rate is as low`() throws {
        let choice = try choose(Self.webcam, exactly(1280, 720), rate: 10)
        #expect(choice.code == .yuyv && choice.rate == FrameRate(10) && !choice.isThinned)
    }

    @Test func `a format that needs no conversion is preferred`() throws {
        let abilities = CameraAbilities(formats: [
            Self.format(.yuyv, Self.size(640, 360, 15)),
            Self.format(.nv12, Self.size(640, 360, 15)),
        ])
        let choice = try choose(abilities, exactly(640, 360), rate: 15)
        #expect(choice.code == .nv12)
        #expect(choice.reason.contains("encoded without conversion"))
    }

    @Test func `pictures are skipped if the camera's lowest rate is too high`() throws {
        let choice = try choose(Self.webcam, exactly(640, 480), rate: 20)
        #expect(choice.rate == FrameRate(30) && choice.recordedRate == FrameRate(20))
        #expect(choice.isThinned)
        #expect(choice.reason.contains("20 of its 30 fps are kept"))
    }

    @Test func `a rate that the camera does not support is noted`() throws {
        let choice = try choose(Self.webcam, exactly(1920, 1080), rate: 60)
        #expect(choice.recordedRate == FrameRate(30))
        #expect(choice.reason.contains("does not support 60 fps"))
    }

    @Test func `a larger size of the same aspect ratio is scaled down`() throws {
        let choice = try choose(Self.webcam, exactly(640, 360))
        #expect(choice.size == PictureSize(width: 1280, height: 720))
        #expect(choice.recordedSize == PictureSize(width: 640, height: 360))
        #expect(choice.notes.count == 1)
    }

    @Test func `a size of another aspect ratio is refused with the supported ones`() {
        #expect {
            _ = try choose(Self.webcam, exactly(700, 700))
        } throws: {
            "\($0)".contains("640×480 (to 30 fps)")
        }
    }

    @Test func `a missing level falls back to the next one, with a note`() throws {
        let slow = CameraAbilities(formats: [
            Self.format(.yuyv, Self.size(640, 480, 25), Self.size(1280, 720, 12))
        ])
        let choice = try choose(slow, levels)
        #expect(choice.size == PictureSize(width: 640, height: 480))
        #expect(choice.notes.count == 2)
        #expect(choice.notes[0].contains("high, 1280×720, at no more than 12 fps"))
        #expect(choice.notes[1].contains("medium is 960×540, which the camera does not support"))
        // At that rate, the first level is the requested format.
        #expect(try choose(slow, levels, rate: 12).size == PictureSize(width: 1280, height: 720))
    }

    @Test func `a camera without any of the level sizes is used`() throws {
        let odd = CameraAbilities(formats: [
            Self.format(.yuyv, Self.size(320, 240, 30), Self.size(800, 600, 30))
        ])
        #expect(try choose(odd, levels).size == PictureSize(width: 800, height: 600))
    }

    @Test func `the camera's own H264 is used if its encoder can be configured`() throws {
        var abilities = Self.webcam
        abilities.formats.append(Self.format(.h264, Self.size(1280, 720, 30)))
        abilities.encoder = CameraEncoderAbilities(
            bitrates: 100_000...8_000_000, keyframePictures: 1...300)
        let choice = try choose(abilities, exactly(1280, 720))
        #expect(choice.code == .h264 && choice.h264 == Self.needs)
    }

    @Test(arguments: [
        (CameraEncoderAbilities(), "bitrate cannot be set"),
        (CameraEncoderAbilities(bitrates: 1...1_000_000), "do not include 4000000"),
        (CameraEncoderAbilities(bitrates: 1...5_000_000), "keyframe interval cannot be set"),
        (
            CameraEncoderAbilities(bitrates: 1...5_000_000, keyframePictures: 1...30),
            "cannot be 60 pictures"
        ),
    ]) func `the reason against the camera's own H264 is stated`(
        encoder: CameraEncoderAbilities, reason: String
    ) throws {
        var abilities = Self.webcam
        abilities.formats.append(Self.format(.h264, Self.size(1280, 720, 30)))
        abilities.encoder = encoder
        let choice = try choose(abilities, exactly(1280, 720))
        #expect(choice.code == .mjpeg)
        #expect(choice.reason.contains(reason), "\(choice.reason)")
        // An explicit request is granted.
        #expect(
            try choose(abilities, exactly(1280, 720), own: .always(Self.needs)).code == .h264)
    }

    @Test func `a format that the camera does not have is refused with those that it has`() {
        #expect {
            _ = try choose(Self.webcam, exactly(640, 480), code: .nv12)
        } throws: {
            "\($0)".contains("it does not support NV12: use one of MJPG, YUYV")
        }
    }

    @Test func `copying needs a camera with H264`() {
        #expect {
            _ = try choose(Self.webcam, exactly(640, 480), own: .always(Self.needs))
        } throws: {
            "\($0)".contains("no H.264 to copy")
        }
    }

    @Test func `for a driver without rates the requested rate is used`() throws {
        let silent = CameraAbilities(formats: [Self.format(.yuyv, Self.size(640, 480))])
        let choice = try choose(silent, exactly(640, 480), rate: 15)
        #expect(choice.rate == nil && choice.recordedRate == FrameRate(15) && !choice.isThinned)
    }

    @Test func `a format that only a library can convert is chosen last`() throws {
        let foreign = try #require(CameraPixelCode("PAC1"))
        let abilities = CameraAbilities(formats: [
            Self.format(foreign, Self.size(640, 480, 30)),
            Self.format(.mjpeg, Self.size(640, 480, 30)),
        ])
        #expect(try choose(abilities, exactly(640, 480)).code == .mjpeg)
        #expect(try choose(abilities, exactly(640, 480), code: foreign).code == foreign)
    }

    @Test(arguments: ["HSV3", "HSV4"]) func `HSV is not used`(name: String) throws {
        let code = try #require(CameraPixelCode(name))
        let abilities = CameraAbilities(formats: [
            Self.format(code, Self.size(640, 480, 30)),
            Self.format(.mjpeg, Self.size(640, 480, 15)),
        ])
        #expect(try choose(abilities, exactly(640, 480)).code == .mjpeg)
        #expect {
            _ = try choose(abilities, exactly(640, 480), code: code)
        } throws: {
            "\($0)".contains("does not support \(name): use one of MJPG")
        }
    }
}
