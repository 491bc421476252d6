// The kernel's header for Video4Linux, constants for the macros that Swift cannot import, and the function types of libv4lconvert.
// All names are prefixed.
#ifndef TRIBUTARY_CV4L2_SHIM_H
#define TRIBUTARY_CV4L2_SHIM_H

// Included before <linux/videodev2.h>, which needs struct timeval.
#include <sys/time.h>
#include <time.h>

#include <dlfcn.h>
#include <linux/videodev2.h>
#include <poll.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

static const unsigned long CV4L2_QUERYCAP = VIDIOC_QUERYCAP;
static const unsigned long CV4L2_ENUM_FMT = VIDIOC_ENUM_FMT;
static const unsigned long CV4L2_ENUM_FRAMESIZES = VIDIOC_ENUM_FRAMESIZES;
static const unsigned long CV4L2_ENUM_FRAMEINTERVALS = VIDIOC_ENUM_FRAMEINTERVALS;
static const unsigned long CV4L2_G_FMT = VIDIOC_G_FMT;
static const unsigned long CV4L2_S_FMT = VIDIOC_S_FMT;
static const unsigned long CV4L2_G_PARM = VIDIOC_G_PARM;
static const unsigned long CV4L2_S_PARM = VIDIOC_S_PARM;
static const unsigned long CV4L2_REQBUFS = VIDIOC_REQBUFS;
static const unsigned long CV4L2_QUERYBUF = VIDIOC_QUERYBUF;
static const unsigned long CV4L2_QBUF = VIDIOC_QBUF;
static const unsigned long CV4L2_DQBUF = VIDIOC_DQBUF;
static const unsigned long CV4L2_STREAMON = VIDIOC_STREAMON;
static const unsigned long CV4L2_STREAMOFF = VIDIOC_STREAMOFF;
static const unsigned long CV4L2_QUERY_EXT_CTRL = VIDIOC_QUERY_EXT_CTRL;
static const unsigned long CV4L2_QUERYMENU = VIDIOC_QUERYMENU;
static const unsigned long CV4L2_G_EXT_CTRLS = VIDIOC_G_EXT_CTRLS;
static const unsigned long CV4L2_S_EXT_CTRLS = VIDIOC_S_EXT_CTRLS;
static const unsigned long CV4L2_TRY_EXT_CTRLS = VIDIOC_TRY_EXT_CTRLS;
static const unsigned long CV4L2_G_SELECTION = VIDIOC_G_SELECTION;
static const unsigned long CV4L2_S_SELECTION = VIDIOC_S_SELECTION;

static const uint32_t CV4L2_CID_BITRATE = V4L2_CID_MPEG_VIDEO_BITRATE;
static const uint32_t CV4L2_CID_BITRATE_PEAK = V4L2_CID_MPEG_VIDEO_BITRATE_PEAK;
static const uint32_t CV4L2_CID_GOP_SIZE = V4L2_CID_MPEG_VIDEO_GOP_SIZE;
static const uint32_t CV4L2_CID_H264_I_PERIOD = V4L2_CID_MPEG_VIDEO_H264_I_PERIOD;
static const uint32_t CV4L2_CID_B_FRAMES = V4L2_CID_MPEG_VIDEO_B_FRAMES;
static const uint32_t CV4L2_CID_REPEAT_SEQ_HEADER = V4L2_CID_MPEG_VIDEO_REPEAT_SEQ_HEADER;
static const uint32_t CV4L2_CID_FORCE_KEY_FRAME = V4L2_CID_MPEG_VIDEO_FORCE_KEY_FRAME;
static const uint32_t CV4L2_CTRL_ALL = V4L2_CTRL_FLAG_NEXT_CTRL;
static const uint32_t CV4L2_CTRL_FLAG_DISABLED = V4L2_CTRL_FLAG_DISABLED;
static const uint32_t CV4L2_CAP_DEVICE_CAPS = V4L2_CAP_DEVICE_CAPS;
static const uint32_t CV4L2_CAP_CAPTURE = V4L2_CAP_VIDEO_CAPTURE;
static const uint32_t CV4L2_CAP_CAPTURE_MPLANE = V4L2_CAP_VIDEO_CAPTURE_MPLANE;
static const uint32_t CV4L2_CAP_STREAMING = V4L2_CAP_STREAMING;
static const uint32_t CV4L2_CAP_IO_MC = V4L2_CAP_IO_MC;

// Function types of libv4lconvert (libv4lconvert.h), which is loaded with dlopen and dlsym: it is only installed where a camera
// needs it.
typedef void *(*CV4L2_convert_create)(int descriptor);
typedef void (*CV4L2_convert_destroy)(void *context);
typedef int (*CV4L2_convert)(
    void *context, const struct v4l2_format *from, const struct v4l2_format *to, unsigned char *source, int source_bytes,
    unsigned char *target, int target_bytes);
typedef const char *(*CV4L2_convert_error)(void *context);

#endif
