// The standard ABI of MPI 5.0 (chapter 20), as far as the drop-in needs it: any MPI library that supports it installs
// libmpi_abi.so.1. Types and values are the standard's; parameters have types but no names. It replaces an installed
// mpi.h: no distribution ships one for this ABI yet.
#pragma once

#include <stdint.h>

#define MPI_VERSION 5
#define MPI_SUBVERSION 0
#define MPI_ABI_VERSION 1
#define TRIREME_MPI_STANDARD_ABI 1

typedef intptr_t MPI_Aint;
typedef int64_t MPI_Offset;
typedef int64_t MPI_Count;

// The last part is private to the library: MPI_Status_set_elements and MPI_Status_set_cancelled write it.
typedef struct {
  int MPI_SOURCE;
  int MPI_TAG;
  int MPI_ERROR;
  int MPI_internal[5];
} MPI_Status;

typedef struct MPI_ABI_Comm* MPI_Comm;
typedef struct MPI_ABI_Datatype* MPI_Datatype;
typedef struct MPI_ABI_Errhandler* MPI_Errhandler;
typedef struct MPI_ABI_File* MPI_File;
typedef struct MPI_ABI_Group* MPI_Group;
typedef struct MPI_ABI_Info* MPI_Info;
typedef struct MPI_ABI_Message* MPI_Message;
typedef struct MPI_ABI_Op* MPI_Op;
typedef struct MPI_ABI_Request* MPI_Request;
typedef struct MPI_ABI_Win* MPI_Win;

// Predefined handles are numbers in the first page, where no object can be.
#define TRIREME_MPI_HANDLE(type, number) ((type)(number))
// MPI_Op
#define MPI_OP_NULL TRIREME_MPI_HANDLE(MPI_Op, 0x020)
#define MPI_SUM TRIREME_MPI_HANDLE(MPI_Op, 0x021)
#define MPI_MIN TRIREME_MPI_HANDLE(MPI_Op, 0x022)
#define MPI_MAX TRIREME_MPI_HANDLE(MPI_Op, 0x023)
#define MPI_PROD TRIREME_MPI_HANDLE(MPI_Op, 0x024)
#define MPI_BAND TRIREME_MPI_HANDLE(MPI_Op, 0x028)
#define MPI_BOR TRIREME_MPI_HANDLE(MPI_Op, 0x029)
#define MPI_BXOR TRIREME_MPI_HANDLE(MPI_Op, 0x02a)
#define MPI_LAND TRIREME_MPI_HANDLE(MPI_Op, 0x030)
#define MPI_LOR TRIREME_MPI_HANDLE(MPI_Op, 0x031)
#define MPI_LXOR TRIREME_MPI_HANDLE(MPI_Op, 0x032)
#define MPI_MINLOC TRIREME_MPI_HANDLE(MPI_Op, 0x038)
#define MPI_MAXLOC TRIREME_MPI_HANDLE(MPI_Op, 0x039)
#define MPI_REPLACE TRIREME_MPI_HANDLE(MPI_Op, 0x03c)
#define MPI_NO_OP TRIREME_MPI_HANDLE(MPI_Op, 0x03d)
// MPI_Comm
#define MPI_COMM_NULL TRIREME_MPI_HANDLE(MPI_Comm, 0x100)
#define MPI_COMM_WORLD TRIREME_MPI_HANDLE(MPI_Comm, 0x101)
#define MPI_COMM_SELF TRIREME_MPI_HANDLE(MPI_Comm, 0x102)
// MPI_Group
#define MPI_GROUP_NULL TRIREME_MPI_HANDLE(MPI_Group, 0x108)
// MPI_Win
#define MPI_WIN_NULL TRIREME_MPI_HANDLE(MPI_Win, 0x110)
// MPI_Message
#define MPI_MESSAGE_NULL TRIREME_MPI_HANDLE(MPI_Message, 0x128)
#define MPI_MESSAGE_NO_PROC TRIREME_MPI_HANDLE(MPI_Message, 0x129)
// MPI_Info
#define MPI_INFO_NULL TRIREME_MPI_HANDLE(MPI_Info, 0x130)
// MPI_Errhandler
#define MPI_ERRHANDLER_NULL TRIREME_MPI_HANDLE(MPI_Errhandler, 0x140)
#define MPI_ERRORS_ARE_FATAL TRIREME_MPI_HANDLE(MPI_Errhandler, 0x141)
#define MPI_ERRORS_ABORT TRIREME_MPI_HANDLE(MPI_Errhandler, 0x142)
#define MPI_ERRORS_RETURN TRIREME_MPI_HANDLE(MPI_Errhandler, 0x143)
// MPI_Request
#define MPI_REQUEST_NULL TRIREME_MPI_HANDLE(MPI_Request, 0x180)
// MPI_Datatype
#define MPI_DATATYPE_NULL TRIREME_MPI_HANDLE(MPI_Datatype, 0x200)
#define MPI_AINT TRIREME_MPI_HANDLE(MPI_Datatype, 0x201)
#define MPI_COUNT TRIREME_MPI_HANDLE(MPI_Datatype, 0x202)
#define MPI_OFFSET TRIREME_MPI_HANDLE(MPI_Datatype, 0x203)
#define MPI_PACKED TRIREME_MPI_HANDLE(MPI_Datatype, 0x207)
#define MPI_SHORT TRIREME_MPI_HANDLE(MPI_Datatype, 0x208)
#define MPI_INT TRIREME_MPI_HANDLE(MPI_Datatype, 0x209)
#define MPI_LONG TRIREME_MPI_HANDLE(MPI_Datatype, 0x20a)
#define MPI_UNSIGNED_SHORT TRIREME_MPI_HANDLE(MPI_Datatype, 0x20c)
#define MPI_UNSIGNED TRIREME_MPI_HANDLE(MPI_Datatype, 0x20d)
#define MPI_UNSIGNED_LONG TRIREME_MPI_HANDLE(MPI_Datatype, 0x20e)
#define MPI_UNSIGNED_LONG_LONG TRIREME_MPI_HANDLE(MPI_Datatype, 0x20f)
#define MPI_FLOAT TRIREME_MPI_HANDLE(MPI_Datatype, 0x210)
#define MPI_C_FLOAT_COMPLEX TRIREME_MPI_HANDLE(MPI_Datatype, 0x212)
#define MPI_CXX_FLOAT_COMPLEX TRIREME_MPI_HANDLE(MPI_Datatype, 0x213)
#define MPI_DOUBLE TRIREME_MPI_HANDLE(MPI_Datatype, 0x214)
#define MPI_C_DOUBLE_COMPLEX TRIREME_MPI_HANDLE(MPI_Datatype, 0x216)
#define MPI_CXX_DOUBLE_COMPLEX TRIREME_MPI_HANDLE(MPI_Datatype, 0x217)
#define MPI_LOGICAL TRIREME_MPI_HANDLE(MPI_Datatype, 0x218)
#define MPI_INTEGER TRIREME_MPI_HANDLE(MPI_Datatype, 0x219)
#define MPI_REAL TRIREME_MPI_HANDLE(MPI_Datatype, 0x21a)
#define MPI_COMPLEX TRIREME_MPI_HANDLE(MPI_Datatype, 0x21b)
#define MPI_DOUBLE_PRECISION TRIREME_MPI_HANDLE(MPI_Datatype, 0x21c)
#define MPI_DOUBLE_COMPLEX TRIREME_MPI_HANDLE(MPI_Datatype, 0x21d)
#define MPI_CHARACTER TRIREME_MPI_HANDLE(MPI_Datatype, 0x21e)
#define MPI_LONG_DOUBLE TRIREME_MPI_HANDLE(MPI_Datatype, 0x220)
#define MPI_C_LONG_DOUBLE_COMPLEX TRIREME_MPI_HANDLE(MPI_Datatype, 0x224)
#define MPI_CXX_LONG_DOUBLE_COMPLEX TRIREME_MPI_HANDLE(MPI_Datatype, 0x225)
#define MPI_FLOAT_INT TRIREME_MPI_HANDLE(MPI_Datatype, 0x228)
#define MPI_DOUBLE_INT TRIREME_MPI_HANDLE(MPI_Datatype, 0x229)
#define MPI_LONG_INT TRIREME_MPI_HANDLE(MPI_Datatype, 0x22a)
#define MPI_2INT TRIREME_MPI_HANDLE(MPI_Datatype, 0x22b)
#define MPI_SHORT_INT TRIREME_MPI_HANDLE(MPI_Datatype, 0x22c)
#define MPI_LONG_DOUBLE_INT TRIREME_MPI_HANDLE(MPI_Datatype, 0x22d)
#define MPI_2REAL TRIREME_MPI_HANDLE(MPI_Datatype, 0x230)
#define MPI_2DOUBLE_PRECISION TRIREME_MPI_HANDLE(MPI_Datatype, 0x231)
#define MPI_2INTEGER TRIREME_MPI_HANDLE(MPI_Datatype, 0x232)
#define MPI_C_BOOL TRIREME_MPI_HANDLE(MPI_Datatype, 0x238)
#define MPI_CXX_BOOL TRIREME_MPI_HANDLE(MPI_Datatype, 0x239)
#define MPI_WCHAR TRIREME_MPI_HANDLE(MPI_Datatype, 0x23c)
#define MPI_INT8_T TRIREME_MPI_HANDLE(MPI_Datatype, 0x240)
#define MPI_UINT8_T TRIREME_MPI_HANDLE(MPI_Datatype, 0x241)
#define MPI_CHAR TRIREME_MPI_HANDLE(MPI_Datatype, 0x243)
#define MPI_SIGNED_CHAR TRIREME_MPI_HANDLE(MPI_Datatype, 0x244)
#define MPI_UNSIGNED_CHAR TRIREME_MPI_HANDLE(MPI_Datatype, 0x245)
#define MPI_BYTE TRIREME_MPI_HANDLE(MPI_Datatype, 0x247)
#define MPI_INT16_T TRIREME_MPI_HANDLE(MPI_Datatype, 0x248)
#define MPI_UINT16_T TRIREME_MPI_HANDLE(MPI_Datatype, 0x249)
#define MPI_INT32_T TRIREME_MPI_HANDLE(MPI_Datatype, 0x250)
#define MPI_UINT32_T TRIREME_MPI_HANDLE(MPI_Datatype, 0x251)
#define MPI_INT64_T TRIREME_MPI_HANDLE(MPI_Datatype, 0x258)
#define MPI_UINT64_T TRIREME_MPI_HANDLE(MPI_Datatype, 0x259)
#define MPI_LOGICAL1 TRIREME_MPI_HANDLE(MPI_Datatype, 0x2c0)
#define MPI_INTEGER1 TRIREME_MPI_HANDLE(MPI_Datatype, 0x2c1)
#define MPI_LOGICAL2 TRIREME_MPI_HANDLE(MPI_Datatype, 0x2c8)
#define MPI_INTEGER2 TRIREME_MPI_HANDLE(MPI_Datatype, 0x2c9)
#define MPI_REAL2 TRIREME_MPI_HANDLE(MPI_Datatype, 0x2ca)
#define MPI_LOGICAL4 TRIREME_MPI_HANDLE(MPI_Datatype, 0x2d0)
#define MPI_INTEGER4 TRIREME_MPI_HANDLE(MPI_Datatype, 0x2d1)
#define MPI_REAL4 TRIREME_MPI_HANDLE(MPI_Datatype, 0x2d2)
#define MPI_COMPLEX4 TRIREME_MPI_HANDLE(MPI_Datatype, 0x2d3)
#define MPI_LOGICAL8 TRIREME_MPI_HANDLE(MPI_Datatype, 0x2d8)
#define MPI_INTEGER8 TRIREME_MPI_HANDLE(MPI_Datatype, 0x2d9)
#define MPI_REAL8 TRIREME_MPI_HANDLE(MPI_Datatype, 0x2da)
#define MPI_COMPLEX8 TRIREME_MPI_HANDLE(MPI_Datatype, 0x2db)
#define MPI_INTEGER16 TRIREME_MPI_HANDLE(MPI_Datatype, 0x2e1)
#define MPI_REAL16 TRIREME_MPI_HANDLE(MPI_Datatype, 0x2e2)
#define MPI_COMPLEX16 TRIREME_MPI_HANDLE(MPI_Datatype, 0x2e3)
#define MPI_COMPLEX32 TRIREME_MPI_HANDLE(MPI_Datatype, 0x2eb)
#define MPI_LONG_LONG_INT TRIREME_MPI_HANDLE(MPI_Datatype, 0x20b)

#define MPI_BOTTOM ((void*)0)
#define MPI_IN_PLACE ((void*)1)
#define MPI_BUFFER_AUTOMATIC ((void*)2)
#define MPI_STATUS_IGNORE ((MPI_Status*)0)
#define MPI_STATUSES_IGNORE ((MPI_Status*)0)

inline constexpr int MPI_SUCCESS = 0;
inline constexpr int MPI_ERR_BUFFER = 1;
inline constexpr int MPI_ERR_COUNT = 2;
inline constexpr int MPI_ERR_TYPE = 3;
inline constexpr int MPI_ERR_COMM = 5;
inline constexpr int MPI_ERR_RANK = 6;
inline constexpr int MPI_ERR_REQUEST = 7;
inline constexpr int MPI_ERR_GROUP = 9;
inline constexpr int MPI_ERR_OP = 10;
inline constexpr int MPI_ERR_TRUNCATE = 15;
inline constexpr int MPI_ERR_OTHER = 16;
inline constexpr int MPI_ERR_PENDING = 18;
inline constexpr int MPI_ERR_IN_STATUS = 19;
inline constexpr int MPI_ERR_BASE = 24;
inline constexpr int MPI_ERR_DISP = 26;
inline constexpr int MPI_ERR_LOCKTYPE = 37;
inline constexpr int MPI_ERR_RMA_ATTACH = 46;
inline constexpr int MPI_ERR_RMA_RANGE = 48;
inline constexpr int MPI_ERR_RMA_SYNC = 50;
inline constexpr int MPI_ERR_SIZE = 52;
inline constexpr int MPI_ERR_RMA_FLAVOR = 57;
inline constexpr int MPI_MODE_NOCHECK = 1024;
inline constexpr int MPI_MODE_NOSUCCEED = 16384;
inline constexpr int MPI_ANY_SOURCE = -1;
inline constexpr int MPI_ANY_TAG = -2;
inline constexpr int MPI_PROC_NULL = -3;
inline constexpr int MPI_ROOT = -4;
inline constexpr int MPI_UNDEFINED = -32766;
inline constexpr int MPI_THREAD_SINGLE = 0;
inline constexpr int MPI_THREAD_FUNNELED = 1024;
inline constexpr int MPI_THREAD_SERIALIZED = 2048;
inline constexpr int MPI_THREAD_MULTIPLE = 4096;
inline constexpr int MPI_ORDER_FORTRAN = 15;
inline constexpr int MPI_DISTRIBUTE_BLOCK = 17;
inline constexpr int MPI_DISTRIBUTE_CYCLIC = 18;
inline constexpr int MPI_DISTRIBUTE_DFLT_DARG = 19;
inline constexpr int MPI_COMBINER_NAMED = 101;
inline constexpr int MPI_COMBINER_DUP = 102;
inline constexpr int MPI_COMBINER_CONTIGUOUS = 103;
inline constexpr int MPI_COMBINER_VECTOR = 104;
inline constexpr int MPI_COMBINER_HVECTOR = 105;
inline constexpr int MPI_COMBINER_INDEXED = 106;
inline constexpr int MPI_COMBINER_HINDEXED = 107;
inline constexpr int MPI_COMBINER_INDEXED_BLOCK = 108;
inline constexpr int MPI_COMBINER_HINDEXED_BLOCK = 109;
inline constexpr int MPI_COMBINER_STRUCT = 110;
inline constexpr int MPI_COMBINER_SUBARRAY = 111;
inline constexpr int MPI_COMBINER_DARRAY = 112;
inline constexpr int MPI_COMBINER_F90_REAL = 113;
inline constexpr int MPI_COMBINER_F90_COMPLEX = 114;
inline constexpr int MPI_COMBINER_F90_INTEGER = 115;
inline constexpr int MPI_COMBINER_RESIZED = 116;
inline constexpr int MPI_CART = 211;
inline constexpr int MPI_GRAPH = 212;
inline constexpr int MPI_COMM_TYPE_SHARED = 221;
inline constexpr int MPI_LOCK_EXCLUSIVE = 301;
inline constexpr int MPI_LOCK_SHARED = 302;
inline constexpr int MPI_WIN_FLAVOR_CREATE = 311;
inline constexpr int MPI_WIN_FLAVOR_ALLOCATE = 312;
inline constexpr int MPI_WIN_FLAVOR_DYNAMIC = 313;
inline constexpr int MPI_WIN_FLAVOR_SHARED = 314;
inline constexpr int MPI_KEYVAL_INVALID = 0;
inline constexpr int MPI_TAG_UB = 501;
inline constexpr int MPI_WIN_CREATE_FLAVOR = 604;
inline constexpr int MPI_MAX_INFO_VAL = 1024;
inline constexpr int MPI_MAX_ERROR_STRING = 512;
inline constexpr int MPI_MAX_OBJECT_NAME = 128;
inline constexpr int MPI_BSEND_OVERHEAD = 512;

extern "C" {

typedef void MPI_User_function(void*, void*, int*, MPI_Datatype*);
typedef int MPI_Comm_copy_attr_function(MPI_Comm, int, void*, void*, void*, int*);
typedef int MPI_Comm_delete_attr_function(MPI_Comm, int, void*, void*);
typedef int MPI_Grequest_query_function(void*, MPI_Status*);
typedef int MPI_Grequest_free_function(void*);
typedef int MPI_Grequest_cancel_function(void*, int);
#define MPI_COMM_NULL_COPY_FN ((MPI_Comm_copy_attr_function*)0)

#define TRIREME_MPI_FUNCTION(name, ...) \
  int MPI_##name(__VA_ARGS__);          \
  int PMPI_##name(__VA_ARGS__);
TRIREME_MPI_FUNCTION(Abort, MPI_Comm, int)
TRIREME_MPI_FUNCTION(Accumulate, const void*, int, MPI_Datatype, int, MPI_Aint, int, MPI_Datatype, MPI_Op, MPI_Win)
TRIREME_MPI_FUNCTION(Accumulate_c, const void*, MPI_Count, MPI_Datatype, int, MPI_Aint, MPI_Count, MPI_Datatype, MPI_Op,
                     MPI_Win)
TRIREME_MPI_FUNCTION(Allgather, const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm)
TRIREME_MPI_FUNCTION(Allgather_c, const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype, MPI_Comm)
TRIREME_MPI_FUNCTION(Allgatherv, const void*, int, MPI_Datatype, void*, const int*, const int*, MPI_Datatype, MPI_Comm)
TRIREME_MPI_FUNCTION(Allgatherv_c, const void*, MPI_Count, MPI_Datatype, void*, const MPI_Count*, const MPI_Aint*,
                     MPI_Datatype, MPI_Comm)
TRIREME_MPI_FUNCTION(Allreduce, const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm)
TRIREME_MPI_FUNCTION(Allreduce_c, const void*, void*, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm)
TRIREME_MPI_FUNCTION(Alltoall, const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm)
TRIREME_MPI_FUNCTION(Alltoall_c, const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype, MPI_Comm)
TRIREME_MPI_FUNCTION(Alltoallv, const void*, const int*, const int*, MPI_Datatype, void*, const int*, const int*,
                     MPI_Datatype, MPI_Comm)
TRIREME_MPI_FUNCTION(Alltoallv_c, const void*, const MPI_Count*, const MPI_Aint*, MPI_Datatype, void*, const MPI_Count*,
                     const MPI_Aint*, MPI_Datatype, MPI_Comm)
TRIREME_MPI_FUNCTION(Alltoallw, const void*, const int*, const int*, const MPI_Datatype*, void*, const int*, const int*,
                     const MPI_Datatype*, MPI_Comm)
TRIREME_MPI_FUNCTION(Alltoallw_c, const void*, const MPI_Count*, const MPI_Aint*, const MPI_Datatype*, void*,
                     const MPI_Count*, const MPI_Aint*, const MPI_Datatype*, MPI_Comm)
TRIREME_MPI_FUNCTION(Barrier, MPI_Comm)
TRIREME_MPI_FUNCTION(Bcast, void*, int, MPI_Datatype, int, MPI_Comm)
TRIREME_MPI_FUNCTION(Bcast_c, void*, MPI_Count, MPI_Datatype, int, MPI_Comm)
TRIREME_MPI_FUNCTION(Bsend, const void*, int, MPI_Datatype, int, int, MPI_Comm)
TRIREME_MPI_FUNCTION(Bsend_c, const void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm)
TRIREME_MPI_FUNCTION(Bsend_init, const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*)
TRIREME_MPI_FUNCTION(Bsend_init_c, const void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request*)
TRIREME_MPI_FUNCTION(Buffer_attach, void*, int)
TRIREME_MPI_FUNCTION(Buffer_attach_c, void*, MPI_Count)
TRIREME_MPI_FUNCTION(Buffer_detach, void*, int*)
TRIREME_MPI_FUNCTION(Buffer_detach_c, void*, MPI_Count*)
TRIREME_MPI_FUNCTION(Cancel, MPI_Request*)
TRIREME_MPI_FUNCTION(Cart_create, MPI_Comm, int, const int*, const int*, int, MPI_Comm*)
TRIREME_MPI_FUNCTION(Cart_shift, MPI_Comm, int, int, int*, int*)
TRIREME_MPI_FUNCTION(Cart_sub, MPI_Comm, const int*, MPI_Comm*)
TRIREME_MPI_FUNCTION(Cartdim_get, MPI_Comm, int*)
TRIREME_MPI_FUNCTION(Comm_accept, const char*, MPI_Info, int, MPI_Comm, MPI_Comm*)
TRIREME_MPI_FUNCTION(Comm_call_errhandler, MPI_Comm, int)
TRIREME_MPI_FUNCTION(Comm_connect, const char*, MPI_Info, int, MPI_Comm, MPI_Comm*)
TRIREME_MPI_FUNCTION(Comm_create, MPI_Comm, MPI_Group, MPI_Comm*)
TRIREME_MPI_FUNCTION(Comm_create_from_group, MPI_Group, const char*, MPI_Info, MPI_Errhandler, MPI_Comm*)
TRIREME_MPI_FUNCTION(Comm_create_group, MPI_Comm, MPI_Group, int, MPI_Comm*)
TRIREME_MPI_FUNCTION(Comm_create_keyval, MPI_Comm_copy_attr_function*, MPI_Comm_delete_attr_function*, int*, void*)
TRIREME_MPI_FUNCTION(Comm_disconnect, MPI_Comm*)
TRIREME_MPI_FUNCTION(Comm_dup, MPI_Comm, MPI_Comm*)
TRIREME_MPI_FUNCTION(Comm_dup_with_info, MPI_Comm, MPI_Info, MPI_Comm*)
TRIREME_MPI_FUNCTION(Comm_free, MPI_Comm*)
TRIREME_MPI_FUNCTION(Comm_free_keyval, int*)
TRIREME_MPI_FUNCTION(Comm_get_attr, MPI_Comm, int, void*, int*)
TRIREME_MPI_FUNCTION(Comm_get_errhandler, MPI_Comm, MPI_Errhandler*)
TRIREME_MPI_FUNCTION(Comm_get_info, MPI_Comm, MPI_Info*)
TRIREME_MPI_FUNCTION(Comm_get_name, MPI_Comm, char*, int*)
TRIREME_MPI_FUNCTION(Comm_group, MPI_Comm, MPI_Group*)
TRIREME_MPI_FUNCTION(Comm_idup, MPI_Comm, MPI_Comm*, MPI_Request*)
TRIREME_MPI_FUNCTION(Comm_idup_with_info, MPI_Comm, MPI_Info, MPI_Comm*, MPI_Request*)
TRIREME_MPI_FUNCTION(Comm_join, int, MPI_Comm*)
TRIREME_MPI_FUNCTION(Comm_rank, MPI_Comm, int*)
TRIREME_MPI_FUNCTION(Comm_remote_group, MPI_Comm, MPI_Group*)
TRIREME_MPI_FUNCTION(Comm_set_attr, MPI_Comm, int, void*)
TRIREME_MPI_FUNCTION(Comm_set_errhandler, MPI_Comm, MPI_Errhandler)
TRIREME_MPI_FUNCTION(Comm_set_info, MPI_Comm, MPI_Info)
TRIREME_MPI_FUNCTION(Comm_size, MPI_Comm, int*)
TRIREME_MPI_FUNCTION(Comm_spawn, const char*, char**, int, MPI_Info, int, MPI_Comm, MPI_Comm*, int*)
TRIREME_MPI_FUNCTION(Comm_spawn_multiple, int, char**, char***, const int*, const MPI_Info*, int, MPI_Comm, MPI_Comm*,
                     int*)
TRIREME_MPI_FUNCTION(Comm_split, MPI_Comm, int, int, MPI_Comm*)
TRIREME_MPI_FUNCTION(Comm_split_type, MPI_Comm, int, int, MPI_Info, MPI_Comm*)
TRIREME_MPI_FUNCTION(Comm_test_inter, MPI_Comm, int*)
TRIREME_MPI_FUNCTION(Compare_and_swap, const void*, const void*, void*, MPI_Datatype, int, MPI_Aint, MPI_Win)
TRIREME_MPI_FUNCTION(Dist_graph_create, MPI_Comm, int, const int*, const int*, const int*, const int*, MPI_Info, int,
                     MPI_Comm*)
TRIREME_MPI_FUNCTION(Dist_graph_create_adjacent, MPI_Comm, int, const int*, const int*, int, const int*, const int*,
                     MPI_Info, int, MPI_Comm*)
TRIREME_MPI_FUNCTION(Dist_graph_neighbors, MPI_Comm, int, int*, int*, int, int*, int*)
TRIREME_MPI_FUNCTION(Dist_graph_neighbors_count, MPI_Comm, int*, int*, int*)
TRIREME_MPI_FUNCTION(Errhandler_free, MPI_Errhandler*)
TRIREME_MPI_FUNCTION(Error_class, int, int*)
TRIREME_MPI_FUNCTION(Error_string, int, char*, int*)
TRIREME_MPI_FUNCTION(Exscan, const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm)
TRIREME_MPI_FUNCTION(Exscan_c, const void*, void*, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm)
TRIREME_MPI_FUNCTION(Fetch_and_op, const void*, void*, MPI_Datatype, int, MPI_Aint, MPI_Op, MPI_Win)
TRIREME_MPI_FUNCTION(File_close, MPI_File*)
TRIREME_MPI_FUNCTION(File_open, MPI_Comm, const char*, int, MPI_Info, MPI_File*)
TRIREME_MPI_FUNCTION(File_preallocate, MPI_File, MPI_Offset)
TRIREME_MPI_FUNCTION(File_read_all, MPI_File, void*, int, MPI_Datatype, MPI_Status*)
TRIREME_MPI_FUNCTION(File_read_all_begin, MPI_File, void*, int, MPI_Datatype)
TRIREME_MPI_FUNCTION(File_read_all_begin_c, MPI_File, void*, MPI_Count, MPI_Datatype)
TRIREME_MPI_FUNCTION(File_read_all_c, MPI_File, void*, MPI_Count, MPI_Datatype, MPI_Status*)
TRIREME_MPI_FUNCTION(File_read_all_end, MPI_File, void*, MPI_Status*)
TRIREME_MPI_FUNCTION(File_read_at_all, MPI_File, MPI_Offset, void*, int, MPI_Datatype, MPI_Status*)
TRIREME_MPI_FUNCTION(File_read_at_all_begin, MPI_File, MPI_Offset, void*, int, MPI_Datatype)
TRIREME_MPI_FUNCTION(File_read_at_all_begin_c, MPI_File, MPI_Offset, void*, MPI_Count, MPI_Datatype)
TRIREME_MPI_FUNCTION(File_read_at_all_c, MPI_File, MPI_Offset, void*, MPI_Count, MPI_Datatype, MPI_Status*)
TRIREME_MPI_FUNCTION(File_read_at_all_end, MPI_File, void*, MPI_Status*)
TRIREME_MPI_FUNCTION(File_read_ordered, MPI_File, void*, int, MPI_Datatype, MPI_Status*)
TRIREME_MPI_FUNCTION(File_read_ordered_begin, MPI_File, void*, int, MPI_Datatype)
TRIREME_MPI_FUNCTION(File_read_ordered_begin_c, MPI_File, void*, MPI_Count, MPI_Datatype)
TRIREME_MPI_FUNCTION(File_read_ordered_c, MPI_File, void*, MPI_Count, MPI_Datatype, MPI_Status*)
TRIREME_MPI_FUNCTION(File_read_ordered_end, MPI_File, void*, MPI_Status*)
TRIREME_MPI_FUNCTION(File_seek_shared, MPI_File, MPI_Offset, int)
TRIREME_MPI_FUNCTION(File_set_atomicity, MPI_File, int)
TRIREME_MPI_FUNCTION(File_set_info, MPI_File, MPI_Info)
TRIREME_MPI_FUNCTION(File_set_size, MPI_File, MPI_Offset)
TRIREME_MPI_FUNCTION(File_set_view, MPI_File, MPI_Offset, MPI_Datatype, MPI_Datatype, const char*, MPI_Info)
TRIREME_MPI_FUNCTION(File_sync, MPI_File)
TRIREME_MPI_FUNCTION(File_write_all, MPI_File, const void*, int, MPI_Datatype, MPI_Status*)
TRIREME_MPI_FUNCTION(File_write_all_begin, MPI_File, const void*, int, MPI_Datatype)
TRIREME_MPI_FUNCTION(File_write_all_begin_c, MPI_File, const void*, MPI_Count, MPI_Datatype)
TRIREME_MPI_FUNCTION(File_write_all_c, MPI_File, const void*, MPI_Count, MPI_Datatype, MPI_Status*)
TRIREME_MPI_FUNCTION(File_write_all_end, MPI_File, const void*, MPI_Status*)
TRIREME_MPI_FUNCTION(File_write_at_all, MPI_File, MPI_Offset, const void*, int, MPI_Datatype, MPI_Status*)
TRIREME_MPI_FUNCTION(File_write_at_all_begin, MPI_File, MPI_Offset, const void*, int, MPI_Datatype)
TRIREME_MPI_FUNCTION(File_write_at_all_begin_c, MPI_File, MPI_Offset, const void*, MPI_Count, MPI_Datatype)
TRIREME_MPI_FUNCTION(File_write_at_all_c, MPI_File, MPI_Offset, const void*, MPI_Count, MPI_Datatype, MPI_Status*)
TRIREME_MPI_FUNCTION(File_write_at_all_end, MPI_File, const void*, MPI_Status*)
TRIREME_MPI_FUNCTION(File_write_ordered, MPI_File, const void*, int, MPI_Datatype, MPI_Status*)
TRIREME_MPI_FUNCTION(File_write_ordered_begin, MPI_File, const void*, int, MPI_Datatype)
TRIREME_MPI_FUNCTION(File_write_ordered_begin_c, MPI_File, const void*, MPI_Count, MPI_Datatype)
TRIREME_MPI_FUNCTION(File_write_ordered_c, MPI_File, const void*, MPI_Count, MPI_Datatype, MPI_Status*)
TRIREME_MPI_FUNCTION(File_write_ordered_end, MPI_File, const void*, MPI_Status*)
TRIREME_MPI_FUNCTION(Finalize, void)
TRIREME_MPI_FUNCTION(Gather, const void*, int, MPI_Datatype, void*, int, MPI_Datatype, int, MPI_Comm)
TRIREME_MPI_FUNCTION(Gather_c, const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype, int, MPI_Comm)
TRIREME_MPI_FUNCTION(Gatherv, const void*, int, MPI_Datatype, void*, const int*, const int*, MPI_Datatype, int,
                     MPI_Comm)
TRIREME_MPI_FUNCTION(Gatherv_c, const void*, MPI_Count, MPI_Datatype, void*, const MPI_Count*, const MPI_Aint*,
                     MPI_Datatype, int, MPI_Comm)
TRIREME_MPI_FUNCTION(Get, void*, int, MPI_Datatype, int, MPI_Aint, int, MPI_Datatype, MPI_Win)
TRIREME_MPI_FUNCTION(Get_accumulate, const void*, int, MPI_Datatype, void*, int, MPI_Datatype, int, MPI_Aint, int,
                     MPI_Datatype, MPI_Op, MPI_Win)
TRIREME_MPI_FUNCTION(Get_accumulate_c, const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype, int,
                     MPI_Aint, MPI_Count, MPI_Datatype, MPI_Op, MPI_Win)
TRIREME_MPI_FUNCTION(Get_c, void*, MPI_Count, MPI_Datatype, int, MPI_Aint, MPI_Count, MPI_Datatype, MPI_Win)
TRIREME_MPI_FUNCTION(Get_elements, const MPI_Status*, MPI_Datatype, int*)
TRIREME_MPI_FUNCTION(Get_elements_c, const MPI_Status*, MPI_Datatype, MPI_Count*)
TRIREME_MPI_FUNCTION(Get_library_version, char*, int*)
TRIREME_MPI_FUNCTION(Graph_create, MPI_Comm, int, const int*, const int*, int, MPI_Comm*)
TRIREME_MPI_FUNCTION(Graph_neighbors, MPI_Comm, int, int, int*)
TRIREME_MPI_FUNCTION(Graph_neighbors_count, MPI_Comm, int, int*)
TRIREME_MPI_FUNCTION(Grequest_complete, MPI_Request)
TRIREME_MPI_FUNCTION(Grequest_start, MPI_Grequest_query_function*, MPI_Grequest_free_function*,
                     MPI_Grequest_cancel_function*, void*, MPI_Request*)
TRIREME_MPI_FUNCTION(Group_free, MPI_Group*)
TRIREME_MPI_FUNCTION(Group_rank, MPI_Group, int*)
TRIREME_MPI_FUNCTION(Group_size, MPI_Group, int*)
TRIREME_MPI_FUNCTION(Group_translate_ranks, MPI_Group, int, const int*, MPI_Group, int*)
TRIREME_MPI_FUNCTION(Iallgather, const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm, MPI_Request*)
TRIREME_MPI_FUNCTION(Iallgather_c, const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype, MPI_Comm,
                     MPI_Request*)
TRIREME_MPI_FUNCTION(Iallgatherv, const void*, int, MPI_Datatype, void*, const int*, const int*, MPI_Datatype, MPI_Comm,
                     MPI_Request*)
TRIREME_MPI_FUNCTION(Iallgatherv_c, const void*, MPI_Count, MPI_Datatype, void*, const MPI_Count*, const MPI_Aint*,
                     MPI_Datatype, MPI_Comm, MPI_Request*)
TRIREME_MPI_FUNCTION(Iallreduce, const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Request*)
TRIREME_MPI_FUNCTION(Iallreduce_c, const void*, void*, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Request*)
TRIREME_MPI_FUNCTION(Ialltoall, const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm, MPI_Request*)
TRIREME_MPI_FUNCTION(Ialltoall_c, const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype, MPI_Comm,
                     MPI_Request*)
TRIREME_MPI_FUNCTION(Ialltoallv, const void*, const int*, const int*, MPI_Datatype, void*, const int*, const int*,
                     MPI_Datatype, MPI_Comm, MPI_Request*)
TRIREME_MPI_FUNCTION(Ialltoallv_c, const void*, const MPI_Count*, const MPI_Aint*, MPI_Datatype, void*,
                     const MPI_Count*, const MPI_Aint*, MPI_Datatype, MPI_Comm, MPI_Request*)
TRIREME_MPI_FUNCTION(Ialltoallw, const void*, const int*, const int*, const MPI_Datatype*, void*, const int*,
                     const int*, const MPI_Datatype*, MPI_Comm, MPI_Request*)
TRIREME_MPI_FUNCTION(Ialltoallw_c, const void*, const MPI_Count*, const MPI_Aint*, const MPI_Datatype*, void*,
                     const MPI_Count*, const MPI_Aint*, const MPI_Datatype*, MPI_Comm, MPI_Request*)
TRIREME_MPI_FUNCTION(Ibarrier, MPI_Comm, MPI_Request*)
TRIREME_MPI_FUNCTION(Ibcast, void*, int, MPI_Datatype, int, MPI_Comm, MPI_Request*)
TRIREME_MPI_FUNCTION(Ibcast_c, void*, MPI_Count, MPI_Datatype, int, MPI_Comm, MPI_Request*)
TRIREME_MPI_FUNCTION(Ibsend, const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*)
TRIREME_MPI_FUNCTION(Ibsend_c, const void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request*)
TRIREME_MPI_FUNCTION(Iexscan, const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Request*)
TRIREME_MPI_FUNCTION(Iexscan_c, const void*, void*, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Request*)
TRIREME_MPI_FUNCTION(Igather, const void*, int, MPI_Datatype, void*, int, MPI_Datatype, int, MPI_Comm, MPI_Request*)
TRIREME_MPI_FUNCTION(Igather_c, const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype, int, MPI_Comm,
                     MPI_Request*)
TRIREME_MPI_FUNCTION(Igatherv, const void*, int, MPI_Datatype, void*, const int*, const int*, MPI_Datatype, int,
                     MPI_Comm, MPI_Request*)
TRIREME_MPI_FUNCTION(Igatherv_c, const void*, MPI_Count, MPI_Datatype, void*, const MPI_Count*, const MPI_Aint*,
                     MPI_Datatype, int, MPI_Comm, MPI_Request*)
TRIREME_MPI_FUNCTION(Improbe, int, int, MPI_Comm, int*, MPI_Message*, MPI_Status*)
TRIREME_MPI_FUNCTION(Imrecv, void*, int, MPI_Datatype, MPI_Message*, MPI_Request*)
TRIREME_MPI_FUNCTION(Imrecv_c, void*, MPI_Count, MPI_Datatype, MPI_Message*, MPI_Request*)
TRIREME_MPI_FUNCTION(Ineighbor_allgather, const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm,
                     MPI_Request*)
TRIREME_MPI_FUNCTION(Ineighbor_allgather_c, const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype,
                     MPI_Comm, MPI_Request*)
TRIREME_MPI_FUNCTION(Ineighbor_allgatherv, const void*, int, MPI_Datatype, void*, const int*, const int*, MPI_Datatype,
                     MPI_Comm, MPI_Request*)
TRIREME_MPI_FUNCTION(Ineighbor_allgatherv_c, const void*, MPI_Count, MPI_Datatype, void*, const MPI_Count*,
                     const MPI_Aint*, MPI_Datatype, MPI_Comm, MPI_Request*)
TRIREME_MPI_FUNCTION(Ineighbor_alltoall, const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm,
                     MPI_Request*)
TRIREME_MPI_FUNCTION(Ineighbor_alltoall_c, const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype,
                     MPI_Comm, MPI_Request*)
TRIREME_MPI_FUNCTION(Ineighbor_alltoallv, const void*, const int*, const int*, MPI_Datatype, void*, const int*,
                     const int*, MPI_Datatype, MPI_Comm, MPI_Request*)
TRIREME_MPI_FUNCTION(Ineighbor_alltoallv_c, const void*, const MPI_Count*, const MPI_Aint*, MPI_Datatype, void*,
                     const MPI_Count*, const MPI_Aint*, MPI_Datatype, MPI_Comm, MPI_Request*)
TRIREME_MPI_FUNCTION(Ineighbor_alltoallw, const void*, const int*, const MPI_Aint*, const MPI_Datatype*, void*,
                     const int*, const MPI_Aint*, const MPI_Datatype*, MPI_Comm, MPI_Request*)
TRIREME_MPI_FUNCTION(Ineighbor_alltoallw_c, const void*, const MPI_Count*, const MPI_Aint*, const MPI_Datatype*, void*,
                     const MPI_Count*, const MPI_Aint*, const MPI_Datatype*, MPI_Comm, MPI_Request*)
TRIREME_MPI_FUNCTION(Info_get, MPI_Info, const char*, int, char*, int*)
TRIREME_MPI_FUNCTION(Info_set, MPI_Info, const char*, const char*)
TRIREME_MPI_FUNCTION(Init, int*, char***)
TRIREME_MPI_FUNCTION(Init_thread, int*, char***, int, int*)
TRIREME_MPI_FUNCTION(Initialized, int*)
TRIREME_MPI_FUNCTION(Intercomm_create, MPI_Comm, int, MPI_Comm, int, int, MPI_Comm*)
TRIREME_MPI_FUNCTION(Intercomm_create_from_groups, MPI_Group, int, MPI_Group, int, const char*, MPI_Info,
                     MPI_Errhandler, MPI_Comm*)
TRIREME_MPI_FUNCTION(Intercomm_merge, MPI_Comm, int, MPI_Comm*)
TRIREME_MPI_FUNCTION(Iprobe, int, int, MPI_Comm, int*, MPI_Status*)
TRIREME_MPI_FUNCTION(Irecv, void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*)
TRIREME_MPI_FUNCTION(Irecv_c, void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request*)
TRIREME_MPI_FUNCTION(Ireduce, const void*, void*, int, MPI_Datatype, MPI_Op, int, MPI_Comm, MPI_Request*)
TRIREME_MPI_FUNCTION(Ireduce_c, const void*, void*, MPI_Count, MPI_Datatype, MPI_Op, int, MPI_Comm, MPI_Request*)
TRIREME_MPI_FUNCTION(Ireduce_scatter, const void*, void*, const int*, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Request*)
TRIREME_MPI_FUNCTION(Ireduce_scatter_block, const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Request*)
TRIREME_MPI_FUNCTION(Ireduce_scatter_block_c, const void*, void*, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm,
                     MPI_Request*)
TRIREME_MPI_FUNCTION(Ireduce_scatter_c, const void*, void*, const MPI_Count*, MPI_Datatype, MPI_Op, MPI_Comm,
                     MPI_Request*)
TRIREME_MPI_FUNCTION(Irsend, const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*)
TRIREME_MPI_FUNCTION(Irsend_c, const void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request*)
TRIREME_MPI_FUNCTION(Iscan, const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Request*)
TRIREME_MPI_FUNCTION(Iscan_c, const void*, void*, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Request*)
TRIREME_MPI_FUNCTION(Iscatter, const void*, int, MPI_Datatype, void*, int, MPI_Datatype, int, MPI_Comm, MPI_Request*)
TRIREME_MPI_FUNCTION(Iscatter_c, const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype, int, MPI_Comm,
                     MPI_Request*)
TRIREME_MPI_FUNCTION(Iscatterv, const void*, const int*, const int*, MPI_Datatype, void*, int, MPI_Datatype, int,
                     MPI_Comm, MPI_Request*)
TRIREME_MPI_FUNCTION(Iscatterv_c, const void*, const MPI_Count*, const MPI_Aint*, MPI_Datatype, void*, MPI_Count,
                     MPI_Datatype, int, MPI_Comm, MPI_Request*)
TRIREME_MPI_FUNCTION(Isend, const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*)
TRIREME_MPI_FUNCTION(Isend_c, const void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request*)
TRIREME_MPI_FUNCTION(Isendrecv, const void*, int, MPI_Datatype, int, int, void*, int, MPI_Datatype, int, int, MPI_Comm,
                     MPI_Request*)
TRIREME_MPI_FUNCTION(Isendrecv_c, const void*, MPI_Count, MPI_Datatype, int, int, void*, MPI_Count, MPI_Datatype, int,
                     int, MPI_Comm, MPI_Request*)
TRIREME_MPI_FUNCTION(Isendrecv_replace, void*, int, MPI_Datatype, int, int, int, int, MPI_Comm, MPI_Request*)
TRIREME_MPI_FUNCTION(Isendrecv_replace_c, void*, MPI_Count, MPI_Datatype, int, int, int, int, MPI_Comm, MPI_Request*)
TRIREME_MPI_FUNCTION(Issend, const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*)
TRIREME_MPI_FUNCTION(Issend_c, const void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request*)
TRIREME_MPI_FUNCTION(Mprobe, int, int, MPI_Comm, MPI_Message*, MPI_Status*)
TRIREME_MPI_FUNCTION(Mrecv, void*, int, MPI_Datatype, MPI_Message*, MPI_Status*)
TRIREME_MPI_FUNCTION(Mrecv_c, void*, MPI_Count, MPI_Datatype, MPI_Message*, MPI_Status*)
TRIREME_MPI_FUNCTION(Neighbor_allgather, const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm)
TRIREME_MPI_FUNCTION(Neighbor_allgather_c, const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype,
                     MPI_Comm)
TRIREME_MPI_FUNCTION(Neighbor_allgatherv, const void*, int, MPI_Datatype, void*, const int*, const int*, MPI_Datatype,
                     MPI_Comm)
TRIREME_MPI_FUNCTION(Neighbor_allgatherv_c, const void*, MPI_Count, MPI_Datatype, void*, const MPI_Count*,
                     const MPI_Aint*, MPI_Datatype, MPI_Comm)
TRIREME_MPI_FUNCTION(Neighbor_alltoall, const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm)
TRIREME_MPI_FUNCTION(Neighbor_alltoall_c, const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype,
                     MPI_Comm)
TRIREME_MPI_FUNCTION(Neighbor_alltoallv, const void*, const int*, const int*, MPI_Datatype, void*, const int*,
                     const int*, MPI_Datatype, MPI_Comm)
TRIREME_MPI_FUNCTION(Neighbor_alltoallv_c, const void*, const MPI_Count*, const MPI_Aint*, MPI_Datatype, void*,
                     const MPI_Count*, const MPI_Aint*, MPI_Datatype, MPI_Comm)
TRIREME_MPI_FUNCTION(Neighbor_alltoallw, const void*, const int*, const MPI_Aint*, const MPI_Datatype*, void*,
                     const int*, const MPI_Aint*, const MPI_Datatype*, MPI_Comm)
TRIREME_MPI_FUNCTION(Neighbor_alltoallw_c, const void*, const MPI_Count*, const MPI_Aint*, const MPI_Datatype*, void*,
                     const MPI_Count*, const MPI_Aint*, const MPI_Datatype*, MPI_Comm)
TRIREME_MPI_FUNCTION(Op_commutative, MPI_Op, int*)
TRIREME_MPI_FUNCTION(Op_create, MPI_User_function*, int, MPI_Op*)
TRIREME_MPI_FUNCTION(Op_free, MPI_Op*)
TRIREME_MPI_FUNCTION(Pack, const void*, int, MPI_Datatype, void*, int, int*, MPI_Comm)
TRIREME_MPI_FUNCTION(Pack_c, const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Count*, MPI_Comm)
TRIREME_MPI_FUNCTION(Probe, int, int, MPI_Comm, MPI_Status*)
TRIREME_MPI_FUNCTION(Put, const void*, int, MPI_Datatype, int, MPI_Aint, int, MPI_Datatype, MPI_Win)
TRIREME_MPI_FUNCTION(Put_c, const void*, MPI_Count, MPI_Datatype, int, MPI_Aint, MPI_Count, MPI_Datatype, MPI_Win)
TRIREME_MPI_FUNCTION(Raccumulate, const void*, int, MPI_Datatype, int, MPI_Aint, int, MPI_Datatype, MPI_Op, MPI_Win,
                     MPI_Request*)
TRIREME_MPI_FUNCTION(Raccumulate_c, const void*, MPI_Count, MPI_Datatype, int, MPI_Aint, MPI_Count, MPI_Datatype,
                     MPI_Op, MPI_Win, MPI_Request*)
TRIREME_MPI_FUNCTION(Recv, void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Status*)
TRIREME_MPI_FUNCTION(Recv_c, void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Status*)
TRIREME_MPI_FUNCTION(Recv_init, void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*)
TRIREME_MPI_FUNCTION(Recv_init_c, void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request*)
TRIREME_MPI_FUNCTION(Reduce, const void*, void*, int, MPI_Datatype, MPI_Op, int, MPI_Comm)
TRIREME_MPI_FUNCTION(Reduce_c, const void*, void*, MPI_Count, MPI_Datatype, MPI_Op, int, MPI_Comm)
TRIREME_MPI_FUNCTION(Reduce_local, const void*, void*, int, MPI_Datatype, MPI_Op)
TRIREME_MPI_FUNCTION(Reduce_local_c, const void*, void*, MPI_Count, MPI_Datatype, MPI_Op)
TRIREME_MPI_FUNCTION(Reduce_scatter, const void*, void*, const int*, MPI_Datatype, MPI_Op, MPI_Comm)
TRIREME_MPI_FUNCTION(Reduce_scatter_block, const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm)
TRIREME_MPI_FUNCTION(Reduce_scatter_block_c, const void*, void*, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm)
TRIREME_MPI_FUNCTION(Reduce_scatter_c, const void*, void*, const MPI_Count*, MPI_Datatype, MPI_Op, MPI_Comm)
TRIREME_MPI_FUNCTION(Request_free, MPI_Request*)
TRIREME_MPI_FUNCTION(Request_get_status, MPI_Request, int*, MPI_Status*)
TRIREME_MPI_FUNCTION(Rget, void*, int, MPI_Datatype, int, MPI_Aint, int, MPI_Datatype, MPI_Win, MPI_Request*)
TRIREME_MPI_FUNCTION(Rget_accumulate, const void*, int, MPI_Datatype, void*, int, MPI_Datatype, int, MPI_Aint, int,
                     MPI_Datatype, MPI_Op, MPI_Win, MPI_Request*)
TRIREME_MPI_FUNCTION(Rget_accumulate_c, const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype, int,
                     MPI_Aint, MPI_Count, MPI_Datatype, MPI_Op, MPI_Win, MPI_Request*)
TRIREME_MPI_FUNCTION(Rget_c, void*, MPI_Count, MPI_Datatype, int, MPI_Aint, MPI_Count, MPI_Datatype, MPI_Win,
                     MPI_Request*)
TRIREME_MPI_FUNCTION(Rput, const void*, int, MPI_Datatype, int, MPI_Aint, int, MPI_Datatype, MPI_Win, MPI_Request*)
TRIREME_MPI_FUNCTION(Rput_c, const void*, MPI_Count, MPI_Datatype, int, MPI_Aint, MPI_Count, MPI_Datatype, MPI_Win,
                     MPI_Request*)
TRIREME_MPI_FUNCTION(Rsend, const void*, int, MPI_Datatype, int, int, MPI_Comm)
TRIREME_MPI_FUNCTION(Rsend_c, const void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm)
TRIREME_MPI_FUNCTION(Rsend_init, const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*)
TRIREME_MPI_FUNCTION(Rsend_init_c, const void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request*)
TRIREME_MPI_FUNCTION(Scan, const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm)
TRIREME_MPI_FUNCTION(Scan_c, const void*, void*, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm)
TRIREME_MPI_FUNCTION(Scatter, const void*, int, MPI_Datatype, void*, int, MPI_Datatype, int, MPI_Comm)
TRIREME_MPI_FUNCTION(Scatter_c, const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype, int, MPI_Comm)
TRIREME_MPI_FUNCTION(Scatterv, const void*, const int*, const int*, MPI_Datatype, void*, int, MPI_Datatype, int,
                     MPI_Comm)
TRIREME_MPI_FUNCTION(Scatterv_c, const void*, const MPI_Count*, const MPI_Aint*, MPI_Datatype, void*, MPI_Count,
                     MPI_Datatype, int, MPI_Comm)
TRIREME_MPI_FUNCTION(Send, const void*, int, MPI_Datatype, int, int, MPI_Comm)
TRIREME_MPI_FUNCTION(Send_c, const void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm)
TRIREME_MPI_FUNCTION(Send_init, const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*)
TRIREME_MPI_FUNCTION(Send_init_c, const void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request*)
TRIREME_MPI_FUNCTION(Sendrecv, const void*, int, MPI_Datatype, int, int, void*, int, MPI_Datatype, int, int, MPI_Comm,
                     MPI_Status*)
TRIREME_MPI_FUNCTION(Sendrecv_c, const void*, MPI_Count, MPI_Datatype, int, int, void*, MPI_Count, MPI_Datatype, int,
                     int, MPI_Comm, MPI_Status*)
TRIREME_MPI_FUNCTION(Sendrecv_replace, void*, int, MPI_Datatype, int, int, int, int, MPI_Comm, MPI_Status*)
TRIREME_MPI_FUNCTION(Sendrecv_replace_c, void*, MPI_Count, MPI_Datatype, int, int, int, int, MPI_Comm, MPI_Status*)
TRIREME_MPI_FUNCTION(Ssend, const void*, int, MPI_Datatype, int, int, MPI_Comm)
TRIREME_MPI_FUNCTION(Ssend_c, const void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm)
TRIREME_MPI_FUNCTION(Ssend_init, const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*)
TRIREME_MPI_FUNCTION(Ssend_init_c, const void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request*)
TRIREME_MPI_FUNCTION(Start, MPI_Request*)
TRIREME_MPI_FUNCTION(Startall, int, MPI_Request*)
TRIREME_MPI_FUNCTION(Status_set_cancelled, MPI_Status*, int)
TRIREME_MPI_FUNCTION(Status_set_elements, MPI_Status*, MPI_Datatype, int)
TRIREME_MPI_FUNCTION(Status_set_elements_c, MPI_Status*, MPI_Datatype, MPI_Count)
TRIREME_MPI_FUNCTION(Test, MPI_Request*, int*, MPI_Status*)
TRIREME_MPI_FUNCTION(Test_cancelled, const MPI_Status*, int*)
TRIREME_MPI_FUNCTION(Testall, int, MPI_Request*, int*, MPI_Status*)
TRIREME_MPI_FUNCTION(Testany, int, MPI_Request*, int*, int*, MPI_Status*)
TRIREME_MPI_FUNCTION(Testsome, int, MPI_Request*, int*, int*, MPI_Status*)
TRIREME_MPI_FUNCTION(Topo_test, MPI_Comm, int*)
TRIREME_MPI_FUNCTION(Type_commit, MPI_Datatype*)
TRIREME_MPI_FUNCTION(Type_contiguous, int, MPI_Datatype, MPI_Datatype*)
TRIREME_MPI_FUNCTION(Type_contiguous_c, MPI_Count, MPI_Datatype, MPI_Datatype*)
TRIREME_MPI_FUNCTION(Type_create_darray, int, int, int, const int*, const int*, const int*, const int*, int,
                     MPI_Datatype, MPI_Datatype*)
TRIREME_MPI_FUNCTION(Type_create_darray_c, int, int, int, const MPI_Count*, const int*, const int*, const int*, int,
                     MPI_Datatype, MPI_Datatype*)
TRIREME_MPI_FUNCTION(Type_create_struct, int, const int*, const MPI_Aint*, const MPI_Datatype*, MPI_Datatype*)
TRIREME_MPI_FUNCTION(Type_create_struct_c, MPI_Count, const MPI_Count*, const MPI_Count*, const MPI_Datatype*,
                     MPI_Datatype*)
TRIREME_MPI_FUNCTION(Type_dup, MPI_Datatype, MPI_Datatype*)
TRIREME_MPI_FUNCTION(Type_free, MPI_Datatype*)
TRIREME_MPI_FUNCTION(Type_get_contents, MPI_Datatype, int, int, int, int*, MPI_Aint*, MPI_Datatype*)
TRIREME_MPI_FUNCTION(Type_get_contents_c, MPI_Datatype, MPI_Count, MPI_Count, MPI_Count, MPI_Count, int*, MPI_Aint*,
                     MPI_Count*, MPI_Datatype*)
TRIREME_MPI_FUNCTION(Type_get_envelope, MPI_Datatype, int*, int*, int*, int*)
TRIREME_MPI_FUNCTION(Type_get_envelope_c, MPI_Datatype, MPI_Count*, MPI_Count*, MPI_Count*, MPI_Count*, int*)
TRIREME_MPI_FUNCTION(Type_get_extent, MPI_Datatype, MPI_Aint*, MPI_Aint*)
TRIREME_MPI_FUNCTION(Type_get_extent_c, MPI_Datatype, MPI_Count*, MPI_Count*)
TRIREME_MPI_FUNCTION(Type_get_extent_x, MPI_Datatype, MPI_Count*, MPI_Count*)
TRIREME_MPI_FUNCTION(Type_get_name, MPI_Datatype, char*, int*)
TRIREME_MPI_FUNCTION(Type_get_true_extent, MPI_Datatype, MPI_Aint*, MPI_Aint*)
TRIREME_MPI_FUNCTION(Type_get_true_extent_c, MPI_Datatype, MPI_Count*, MPI_Count*)
TRIREME_MPI_FUNCTION(Type_get_true_extent_x, MPI_Datatype, MPI_Count*, MPI_Count*)
TRIREME_MPI_FUNCTION(Type_size, MPI_Datatype, int*)
TRIREME_MPI_FUNCTION(Type_size_c, MPI_Datatype, MPI_Count*)
TRIREME_MPI_FUNCTION(Type_size_x, MPI_Datatype, MPI_Count*)
TRIREME_MPI_FUNCTION(Unpack, const void*, int, int*, void*, int, MPI_Datatype, MPI_Comm)
TRIREME_MPI_FUNCTION(Unpack_c, const void*, MPI_Count, MPI_Count*, void*, MPI_Count, MPI_Datatype, MPI_Comm)
TRIREME_MPI_FUNCTION(Wait, MPI_Request*, MPI_Status*)
TRIREME_MPI_FUNCTION(Waitall, int, MPI_Request*, MPI_Status*)
TRIREME_MPI_FUNCTION(Waitany, int, MPI_Request*, int*, MPI_Status*)
TRIREME_MPI_FUNCTION(Waitsome, int, MPI_Request*, int*, int*, MPI_Status*)
TRIREME_MPI_FUNCTION(Win_allocate, MPI_Aint, int, MPI_Info, MPI_Comm, void*, MPI_Win*)
TRIREME_MPI_FUNCTION(Win_allocate_c, MPI_Aint, MPI_Aint, MPI_Info, MPI_Comm, void*, MPI_Win*)
TRIREME_MPI_FUNCTION(Win_allocate_shared, MPI_Aint, int, MPI_Info, MPI_Comm, void*, MPI_Win*)
TRIREME_MPI_FUNCTION(Win_allocate_shared_c, MPI_Aint, MPI_Aint, MPI_Info, MPI_Comm, void*, MPI_Win*)
TRIREME_MPI_FUNCTION(Win_attach, MPI_Win, void*, MPI_Aint)
TRIREME_MPI_FUNCTION(Win_call_errhandler, MPI_Win, int)
TRIREME_MPI_FUNCTION(Win_complete, MPI_Win)
TRIREME_MPI_FUNCTION(Win_create, void*, MPI_Aint, int, MPI_Info, MPI_Comm, MPI_Win*)
TRIREME_MPI_FUNCTION(Win_create_c, void*, MPI_Aint, MPI_Aint, MPI_Info, MPI_Comm, MPI_Win*)
TRIREME_MPI_FUNCTION(Win_create_dynamic, MPI_Info, MPI_Comm, MPI_Win*)
TRIREME_MPI_FUNCTION(Win_detach, MPI_Win, const void*)
TRIREME_MPI_FUNCTION(Win_fence, int, MPI_Win)
TRIREME_MPI_FUNCTION(Win_flush, int, MPI_Win)
TRIREME_MPI_FUNCTION(Win_flush_all, MPI_Win)
TRIREME_MPI_FUNCTION(Win_flush_local, int, MPI_Win)
TRIREME_MPI_FUNCTION(Win_flush_local_all, MPI_Win)
TRIREME_MPI_FUNCTION(Win_free, MPI_Win*)
TRIREME_MPI_FUNCTION(Win_get_attr, MPI_Win, int, void*, int*)
TRIREME_MPI_FUNCTION(Win_get_errhandler, MPI_Win, MPI_Errhandler*)
TRIREME_MPI_FUNCTION(Win_get_group, MPI_Win, MPI_Group*)
TRIREME_MPI_FUNCTION(Win_get_name, MPI_Win, char*, int*)
TRIREME_MPI_FUNCTION(Win_lock, int, int, int, MPI_Win)
TRIREME_MPI_FUNCTION(Win_lock_all, int, MPI_Win)
TRIREME_MPI_FUNCTION(Win_post, MPI_Group, int, MPI_Win)
TRIREME_MPI_FUNCTION(Win_set_info, MPI_Win, MPI_Info)
TRIREME_MPI_FUNCTION(Win_shared_query, MPI_Win, int, MPI_Aint*, int*, void*)
TRIREME_MPI_FUNCTION(Win_shared_query_c, MPI_Win, int, MPI_Aint*, MPI_Aint*, void*)
TRIREME_MPI_FUNCTION(Win_start, MPI_Group, int, MPI_Win)
TRIREME_MPI_FUNCTION(Win_sync, MPI_Win)
TRIREME_MPI_FUNCTION(Win_test, MPI_Win, int*)
TRIREME_MPI_FUNCTION(Win_unlock, int, MPI_Win)
TRIREME_MPI_FUNCTION(Win_unlock_all, MPI_Win)
TRIREME_MPI_FUNCTION(Win_wait, MPI_Win)

}  // extern "C"
