package import Media

/// What is captured of what a camera can do, and why.
package struct CameraChoice: Hashable, Sendable {
    package var code: CameraPixelCode
    /// Of the camera's pictures.
    package var size: PictureSize
    /// Of the camera's pictures per second; nil: it does not say.
    package var rate: FrameRate?
    /// Of what is recorded: as ``size``, or smaller.
    package var recordedSize: PictureSize
    /// Of what is recorded: the camera's rate, or less by leaving pictures out.
    package var recordedRate: FrameRate
    /// What the camera's own encoder is to be told; nil unless it is used.
    package var h264: CameraRequest.H264Needs?
    /// A few words: why this and nothing else.
    package var reason: String
    /// One line for each level that the camera does not have.
    package var notes: [String]

    package init(
        code: CameraPixelCode, size: PictureSize, rate: FrameRate?, recordedSize: PictureSize,
        recordedRate: FrameRate, h264: CameraRequest.H264Needs?, reason: String, notes: [String]
    ) {
        self.code = code
        self.size = size
        self.rate = rate
        self.recordedSize = recordedSize
        self.recordedRate = recordedRate
        self.h264 = h264
        self.reason = reason
        self.notes = notes
    }

    package var isThinned: Bool { rate.map { recordedRate < $0 } ?? false }

    package var coding: CameraCoding { CameraCoding(code) }

    /// The same, at the rate that the camera has said in the end.
    func settled(at rate: FrameRate?) -> CameraChoice {
        guard let rate, rate != self.rate else { return self }
        var result = self
        result.rate = rate
        result.recordedRate = min(recordedRate, rate)
        return result
    }
}
