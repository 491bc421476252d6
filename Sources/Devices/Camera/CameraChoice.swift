package import Media

/// The chosen capture mode of a camera, and the reason.
package struct CameraChoice: Hashable, Sendable {
    package var code: CameraPixelCode
    /// Size of the camera's pictures.
    package var size: PictureSize
    /// The camera's rate; nil: not reported.
    package var rate: FrameRate?
    /// Size of the recorded pictures: ``size``, or smaller.
    package var recordedSize: PictureSize
    /// Rate of the recorded pictures: the camera's rate, or a lower one by dropping pictures.
    package var recordedRate: FrameRate
    /// Settings for the camera's own encoder; nil unless it is used.
    package var h264: CameraRequest.H264Needs?
    /// The reason for the choice, in a few words.
    package var reason: String
    /// One line per level that the camera does not have.
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

    /// The choice with the rate that the camera has confirmed.
    func settled(at rate: FrameRate?) -> CameraChoice {
        guard let rate, rate != self.rate else { return self }
        var result = self
        result.rate = rate
        result.recordedRate = min(recordedRate, rate)
        return result
    }
}
