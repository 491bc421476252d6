import CV4L2
import Glibc
import Media

/// The negotiated capture parameters.
struct CameraAgreement {
    var format: v4l2_format
    /// `nil` if the driver does not report it.
    var rate: FrameRate?

    /// Why the pictures cannot be used in this format; nil: they can.
    func flaw(of choice: CameraChoice) -> String? {
        let picture = format.fmt.pix
        let code = CameraPixelCode(rawValue: picture.pixelformat)
        let size = PictureSize(width: Int(picture.width), height: Int(picture.height))
        if code != choice.code || size != choice.size {
            return "it lists \(choice.code) \(choice.size), but delivers \(code) \(size)"
        }
        if picture.field == V4L2_FIELD_ALTERNATE.rawValue {
            return "it delivers only interlaced video, which is not supported"
        }
        if case .raw(let layout) = choice.coding {
            let size = layout.sizeBytes(
                bytesPerRow: Int(picture.bytesperline), height: Int(picture.height))
            if size == 0 || size > Int(picture.sizeimage) {
                return "its driver reports \(picture.sizeimage) bytes for a picture of \(size)"
            }
        }
        return nil
    }
}

/// Capturing from a node.
extension VideoNode {
    /// A camera that has just been plugged in or released may be busy at first.
    private static let tries = 3
    private static let pauseMicroseconds: UInt32 = 100_000
    /// With one buffer, every picture would be lost while the previous one is processed.
    private static let fewestBuffers: UInt32 = 2

    /// Sets format, size, rate and encoder.
    func agree(on choice: CameraChoice) throws(KernelFault) -> CameraAgreement {
        var format = v4l2_format()
        format.type = V4L2_BUF_TYPE_VIDEO_CAPTURE.rawValue
        format.fmt.pix.width = UInt32(choice.size.width)
        format.fmt.pix.height = UInt32(choice.size.height)
        format.fmt.pix.pixelformat = choice.code.rawValue
        format.fmt.pix.field = V4L2_FIELD_NONE.rawValue
        try call("S_FMT", UInt(CV4L2_S_FMT), &format)
        let rate = setRate(choice.rate ?? choice.recordedRate)
        if let needs = choice.h264 {
            do throws(ControlFault) {
                try tellEncoder(
                    bitrate: needs.bitrate,
                    keyframePictures: needs.keyframePictures(at: rate ?? choice.recordedRate))
            } catch {
                throw error.fault
            }
        }
        return CameraAgreement(format: format, rate: rate)
    }

    /// Requests a rate; returns the camera's actual one, nil when it is not reported.
    private func setRate(_ rate: FrameRate) -> FrameRate? {
        var parameters = v4l2_streamparm()
        parameters.type = V4L2_BUF_TYPE_VIDEO_CAPTURE.rawValue
        parameters.parm.capture.timeperframe = rate.interval
        // Drivers with a fixed rate refuse, and may still report it.
        if !asks(UInt(CV4L2_S_PARM), &parameters) {
            guard asks(UInt(CV4L2_G_PARM), &parameters) else { return nil }
        }
        return FrameRate(interval: parameters.parm.capture.timeperframe)
    }

    /// Allocates memory-mapped buffers; from here on no other program can capture.
    func makeBuffers(_ count: Int) throws(KernelFault) -> CameraBuffers {
        var request = v4l2_requestbuffers()
        var made: UInt32 = 0
        try persistently { (node) throws(KernelFault) in
            request = v4l2_requestbuffers()
            request.count = UInt32(count)
            request.type = V4L2_BUF_TYPE_VIDEO_CAPTURE.rawValue
            request.memory = V4L2_MEMORY_MMAP.rawValue
            try node.call("REQBUFS", UInt(CV4L2_REQBUFS), &request)
            made = request.count
        }
        guard made >= Self.fewestBuffers else { throw KernelFault(call: "REQBUFS", code: ENOMEM) }
        return try CameraBuffers(self, count: Int(made))
    }

    func startStream() throws(KernelFault) {
        try persistently { (node) throws(KernelFault) in
            var type = Int32(V4L2_BUF_TYPE_VIDEO_CAPTURE.rawValue)
            try node.call("STREAMON", UInt(CV4L2_STREAMON), &type)
        }
    }

    /// Queues a buffer.
    func queue(_ index: Int) throws(KernelFault) {
        var buffer = v4l2_buffer.mapped(index)
        try call("QBUF", UInt(CV4L2_QBUF), &buffer)
    }

    /// Dequeues a filled buffer; nil when there is none.
    func dequeue() throws(KernelFault) -> v4l2_buffer? {
        var buffer = v4l2_buffer.mapped()
        do throws(KernelFault) {
            try call("DQBUF", UInt(CV4L2_DQBUF), &buffer)
            return buffer
        } catch {
            if error.code == EAGAIN { return nil }
            throw error
        }
    }

    /// Retries a call that a driver refuses temporarily.
    private func persistently(
        _ body: (borrowing VideoNode) throws(KernelFault) -> Void
    ) throws(KernelFault) {
        for _ in 1..<Self.tries {
            do throws(KernelFault) {
                return try body(self)
            } catch {
                guard error.code == EINVAL || error.code == EIO else { throw error }
                usleep(Self.pauseMicroseconds)
            }
        }
        try body(self)
    }
}

extension CameraPictureLayout {
    /// The colours of JPEG files (JFIF): full range, BT.709 primaries, BT.601 matrix.
    private static let jpegColour = ColourDescription(
        primaries: 1, transfer: 13, matrix: 6, isFullRange: true)

    /// For pictures that need no converter.
    init(_ format: v4l2_format, _ coding: CameraCoding) {
        let picture = format.fmt.pix
        let colour: ColourDescription?
        switch coding {
        case .jpeg: colour = Self.jpegColour
        case .h264, .foreign: colour = nil
        // The matrix of the later conversion to Y′CbCr.
        case .raw(let layout) where layout.isRGB: colour = .bt709
        case .raw:
            colour = CameraColour.description(
                colourSpace: picture.colorspace, transfer: picture.xfer_func,
                matrix: picture.ycbcr_enc, quantization: picture.quantization)
        }
        self.init(
            coding: coding,
            size: PictureSize(width: Int(picture.width), height: Int(picture.height)),
            bytesPerRow: Int(picture.bytesperline), colour: colour)
    }
}
