import Media
import RTSP

/// Values of command line options for sources and encoders.
extension VideoChoice {
    /// Reads `none`, `test`, `file:PATH`, `rtsp://…`, or the name of a camera.
    package init(argument: String) throws(CaptureError) {
        try self.init(argument, option: "--video")
    }

    /// Reads the value of `--preview`: `small`, `small:WIDTHxHEIGHT`, or what `--video` accepts.
    package init(previewArgument argument: String) throws(CaptureError) {
        let parts = argument.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts[0] == "small" else {
            self = try VideoChoice(argument, option: "--preview")
            return
        }
        guard parts.count == 2 else {
            self = .small(within: CaptureSettings.smallBox)
            return
        }
        let sides = parts[1].split(separator: "x", omittingEmptySubsequences: false)
        guard sides.count == 2, let width = Int(sides[0]), let height = Int(sides[1]),
            Self.smallSides.contains(width), Self.smallSides.contains(height)
        else {
            throw .settings(
                "--preview small: '\(parts[1])' is not a size: use small:WIDTHxHEIGHT, such as small:480x480, numbers from "
                    + "\(Self.smallSides.lowerBound) to \(Self.smallSides.upperBound)")
        }
        self = .small(within: PictureSize(width: width, height: height))
    }

    /// Sides of the box for a preview: smaller ones show nothing, larger ones are no preview.
    private static let smallSides = 64...1920

    private init(_ argument: String, option: String) throws(CaptureError) {
        switch try SourceArgument(argument, option: option) {
        case .none: self = .none
        case .test: self = .test
        case .file(let path): self = .file(path: path)
        case .device(let name): self = .device(name)
        case .network(let url): self = .network(url)
        }
    }
}

extension AudioChoice {
    /// Reads `none`, `test`, `file:PATH`, `rtsp://…`, or the name of a sound device.
    package init(argument: String) throws(CaptureError) {
        switch try SourceArgument(argument, option: "--audio") {
        case .none: self = .none
        case .test: self = .test
        case .file(let path): self = .file(path: path)
        case .device(let name): self = .device(name)
        case .network(let url): self = .network(url)
        }
    }
}

extension EncoderChoice {
    /// Reads `auto`, `copy` or the name of an encoder.
    package init(argument: String) {
        switch argument {
        case "auto": self = .auto
        case "copy": self = .copy
        default: self = .named(argument)
        }
    }
}

/// Common syntax of `--video` and `--audio`.
private enum SourceArgument {
    case none
    case test
    case file(String)
    case device(String)
    case network(RTSPURL)

    private static let filePrefix = "file:"

    init(_ argument: String, option: String) throws(CaptureError) {
        switch argument {
        case "none": self = .none
        case "test": self = .test
        case Self.filePrefix:
            throw .settings("\(option) file: needs a path after the colon")
        case _ where argument.hasPrefix(Self.filePrefix):
            self = .file(String(argument.dropFirst(Self.filePrefix.count)))
        case _ where RTSPURL.scheme(of: argument) != nil:
            do throws(RTSPError) {
                self = .network(try RTSPURL(parsing: argument))
            } catch {
                throw .settings("\(option): \(error)")
            }
        case _ where argument.contains("://"):
            // Not repeated: it may contain a password.
            throw .settings("\(option): of URLs, only rtsp:// and rtsps:// are supported")
        case "":
            throw .settings("\(option) is empty: use test, file:PATH, rtsp://…, none or a device")
        default:
            self = .device(argument)
        }
    }
}
