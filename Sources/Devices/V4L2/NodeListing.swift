import CV4L2
import Glibc
import Media

/// A node's formats, sizes and rates.
extension VideoNode {
    /// More than any device has; a driver with more is faulty.
    private static let mostFormats: UInt32 = 128
    private static let mostSizes: UInt32 = 128
    private static let mostRates: UInt32 = 64

    /// All formats. For a driver with a continuous range of sizes, the supported ones of `sizes`.
    func abilities(interestingSizes sizes: [PictureSize]) -> CameraAbilities {
        var formats: [CameraFormat] = []
        for index in 0..<Self.mostFormats {
            var description = v4l2_fmtdesc()
            description.index = index
            description.type = V4L2_BUF_TYPE_VIDEO_CAPTURE.rawValue
            guard asks(UInt(CV4L2_ENUM_FMT), &description) else { break }
            let code = CameraPixelCode(rawValue: description.pixelformat)
            // Some drivers list a format twice.
            if formats.contains(where: { $0.code == code }) { continue }
            formats.append(
                CameraFormat(
                    code: code, name: text(of: description.description),
                    isEmulated: description.flags & UInt32(V4L2_FMT_FLAG_EMULATED) != 0,
                    sizes: self.sizes(of: code, interesting: sizes)))
        }
        return CameraAbilities(formats: formats, encoder: encoderAbilities())
    }

    private func sizes(
        of code: CameraPixelCode, interesting: [PictureSize]
    ) -> [CameraSize] {
        var found: [PictureSize] = []
        for index in 0..<Self.mostSizes {
            var entry = v4l2_frmsizeenum()
            entry.index = index
            entry.pixel_format = code.rawValue
            guard asks(UInt(CV4L2_ENUM_FRAMESIZES), &entry) else { break }
            if entry.type == V4L2_FRMSIZE_TYPE_DISCRETE.rawValue {
                found.append(
                    PictureSize(
                        width: Int(entry.discrete.width), height: Int(entry.discrete.height)))
                continue
            }
            let range = entry.stepwise
            found += interesting.filter { Self.contains($0, in: range) }
            found.append(
                PictureSize(width: Int(range.max_width), height: Int(range.max_height)))
            break
        }
        // A driver that lists none has the one that is set.
        if found.isEmpty, let now = currentSize(code) { found = [now] }
        var sizes: [CameraSize] = []
        for size in found
        where size.width > 0 && size.height > 0 && !sizes.contains(where: { $0.size == size }) {
            sizes.append(CameraSize(size, rates: rates(of: code, at: size)))
        }
        return sizes
    }

    private static func contains(
        _ size: PictureSize, in range: v4l2_frmsize_stepwise
    ) -> Bool {
        func fits(_ side: Int, _ least: UInt32, _ most: UInt32, _ step: UInt32) -> Bool {
            side >= Int(least) && side <= Int(most) && (side - Int(least)) % max(1, Int(step)) == 0
        }
        return fits(size.width, range.min_width, range.max_width, range.step_width)
            && fits(size.height, range.min_height, range.max_height, range.step_height)
    }

    private func currentSize(_ code: CameraPixelCode) -> PictureSize? {
        var format = v4l2_format()
        format.type = V4L2_BUF_TYPE_VIDEO_CAPTURE.rawValue
        guard asks(UInt(CV4L2_G_FMT), &format), format.fmt.pix.pixelformat == code.rawValue
        else { return nil }
        return PictureSize(
            width: Int(format.fmt.pix.width), height: Int(format.fmt.pix.height))
    }

    private func rates(of code: CameraPixelCode, at size: PictureSize) -> CameraRates {
        var rates: [FrameRate] = []
        for index in 0..<Self.mostRates {
            var entry = v4l2_frmivalenum()
            entry.index = index
            entry.pixel_format = code.rawValue
            entry.width = UInt32(size.width)
            entry.height = UInt32(size.height)
            guard asks(UInt(CV4L2_ENUM_FRAMEINTERVALS), &entry) else { break }
            if entry.type == V4L2_FRMIVAL_TYPE_DISCRETE.rawValue {
                if let rate = FrameRate(interval: entry.discrete) { rates.append(rate) }
                continue
            }
            guard let fastest = FrameRate(interval: entry.stepwise.min),
                let slowest = FrameRate(interval: entry.stepwise.max)
            else { break }
            return .between(min(slowest, fastest), max(slowest, fastest))
        }
        return rates.isEmpty ? .unknown : .some(rates)
    }
}

extension FrameRate {
    /// From the duration of a picture; nil when it is invalid.
    init?(interval: v4l2_fract) {
        guard let numerator = Int32(exactly: interval.denominator),
            let denominator = Int32(exactly: interval.numerator), numerator > 0, denominator > 0
        else { return nil }
        self.init(numerator, per: denominator)
    }

    /// The duration of a picture.
    var interval: v4l2_fract {
        v4l2_fract(numerator: UInt32(denominator), denominator: UInt32(numerator))
    }
}
