! A Fortran program: open, collective write and read, an error code, close.
program fortran
  use mpi
  implicit none
  integer :: file, rank, code, class, text_length, i
  integer :: out(100), in(100), status(MPI_STATUS_SIZE)
  integer(kind=MPI_OFFSET_KIND) :: offset
  character(len=1024) :: path
  character(len=MPI_MAX_INFO_VAL) :: value
  integer :: info
  logical :: found, failed

  call MPI_Init(code)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, code)
  call get_command_argument(1, path, text_length)
  failed = .false.
  out = [(rank * 100 + i, i = 1, 100)]
  call MPI_File_open(MPI_COMM_WORLD, trim(path), MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, file, code)
  if (code /= MPI_SUCCESS) failed = .true.
  offset = rank * 400
  call MPI_File_write_at_all(file, offset, out, 100, MPI_INTEGER, status, code)
  call MPI_File_read_at_all(file, offset, in, 100, MPI_INTEGER, status, code)
  if (any(in /= out)) failed = .true.
  call MPI_File_get_info(file, info, code)
  call MPI_Info_get(info, 'romio_filesystem_type', MPI_MAX_INFO_VAL, value, found, code)
  if (.not. found .or. value(1:9) /= 'TAM over ') failed = .true.
  call MPI_Info_free(info, code)
  call MPI_File_close(file, code)
  if (file /= MPI_FILE_NULL) failed = .true.
  call MPI_File_delete('/nowhere/at/all', MPI_INFO_NULL, code)
  call MPI_Error_class(code, class, i)
  if (class /= MPI_ERR_NO_SUCH_FILE) failed = .true.
  if (rank == 0) call MPI_File_delete(trim(path), MPI_INFO_NULL, code)
  call MPI_Finalize(code)
  if (failed) stop 1
end program fortran
